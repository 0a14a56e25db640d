"""Why a strategy chose what it chose, and what another choice would have cost."""
