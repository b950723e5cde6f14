FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /out/sessiond ./cmd/sessiond \
    && mkdir /out/data

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/sessiond /sessiond
COPY --from=build --chown=65532:65532 /out/data /data
USER 65532:65532
WORKDIR /data
VOLUME /data
# A container is reached through its own address, so a token is required: the
# server refuses to start without SESSIOND_TOKEN or auth.tokens.
ENV SESSIOND_LISTEN=0.0.0.0:8080 \
    SESSIOND_LOG__FORMAT=json \
    SESSIOND_DATABASE_URL=sqlite:/data/sessiond.db
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --retries=3 CMD ["/sessiond", "health"]
ENTRYPOINT ["/sessiond"]
