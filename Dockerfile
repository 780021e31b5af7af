# syntax=docker/dockerfile:1
# The service with its plugins on slim Debian. `deploy/image/build.py` builds a smaller image without Docker.
FROM python:3.11-slim-bookworm AS build
WORKDIR /source
RUN python -m venv /opt/identity
COPY requirements.lock .
RUN /opt/identity/bin/pip install --no-cache-dir --require-hashes -r requirements.lock
COPY . .
RUN /opt/identity/bin/pip install --no-cache-dir --no-deps . ./packages/*/ ./plugins/*/

FROM python:3.11-slim-bookworm
# The user and the folders of `deploy/image/build.py`. The root is read-only at run time (`compose.yaml`).
RUN groupadd --gid 65532 identity \
    && useradd --uid 65532 --gid 65532 --no-create-home --home-dir /var/lib/identity identity \
    && install --directory --mode 0700 --owner 65532 --group 65532 /var/lib/identity /var/lib/identity-checkpoint
COPY --from=build /opt/identity /opt/identity
ENV PATH=/opt/identity/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONDONTWRITEBYTECODE=1 \
    IDENTITY_DATA_DIR=/var/lib/identity \
    IDENTITY_LEDGER_CHECKPOINT_PATH=/var/lib/identity-checkpoint/data.checkpoint \
    IDENTITY_SERVER_HOST=0.0.0.0 \
    IDENTITY_LOG_FORMAT=json
USER 65532:65532
WORKDIR /var/lib/identity
VOLUME ["/var/lib/identity", "/var/lib/identity-checkpoint"]
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=6 \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8080/health', timeout=4)"]
ENTRYPOINT ["identity"]
CMD ["serve"]
