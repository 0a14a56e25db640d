# The service in two steps: build the dashboard and the wheel, then install only what runs.

FROM node:20-bookworm-slim AS dashboard
WORKDIR /build/dashboard
COPY dashboard/package.json dashboard/package-lock.json ./
RUN npm ci
COPY dashboard/ ./
COPY src/hybrid_ml_scheduler/plans/*.json /build/src/hybrid_ml_scheduler/plans/
RUN npm run build

FROM python:3.11-slim-bookworm AS wheel
WORKDIR /build
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src/ src/
COPY --from=dashboard /build/src/hybrid_ml_scheduler/api/static/ src/hybrid_ml_scheduler/api/static/
RUN pip install --no-cache-dir build && python -m build --wheel --outdir /wheels

FROM python:3.11-slim-bookworm
ENV PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1 OMP_NUM_THREADS=1 NUMBA_CACHE_DIR=/var/lib/hms/numba \
    HMS_HOST=0.0.0.0 HMS_DATA_DIR=/var/lib/hms/data HMS_LOG_DIR=/var/lib/hms/logs
RUN useradd --system --create-home --home-dir /var/lib/hms hms
COPY constraints.txt /tmp/constraints.txt
COPY --from=wheel /wheels/ /tmp/wheels/
RUN pip install --constraint /tmp/constraints.txt /tmp/wheels/*.whl && rm -r /tmp/wheels /tmp/constraints.txt
USER hms
WORKDIR /var/lib/hms
VOLUME /var/lib/hms
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=300s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/api/health', timeout=2)"]
STOPSIGNAL SIGTERM
CMD ["hms", "serve"]
