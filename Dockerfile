# memglot in a container: `docker run -i --rm -v memglot:/data memglot mcp` serves one agent over standard input.
FROM python:3.13-slim AS build
COPY . /source
RUN python -m venv /opt/memglot \
    && /opt/memglot/bin/pip install --no-cache-dir /source \
    && /opt/memglot/bin/pip uninstall --yes pip \
    && find /opt/memglot -type d -name tests -prune -exec rm -rf {} +

FROM python:3.13-slim
RUN useradd --uid 10001 --create-home memglot && install --directory --owner memglot --mode 0700 /data
COPY --from=build /opt/memglot /opt/memglot
ENV PATH=/opt/memglot/bin:$PATH MEMGLOT_STORE=/data/memories.db
USER memglot
WORKDIR /data
VOLUME /data
ENTRYPOINT ["memglot"]
