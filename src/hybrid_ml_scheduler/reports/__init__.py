"""Results in, files out: words, plots, PDF reports and traces for Perfetto."""
