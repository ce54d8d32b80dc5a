# mlperf with ONNX Runtime for the CPU.
#
#   docker build -t mlperf .
#   docker run --rm -v mlperf:/data mlperf run --model resnet50 --scenario offline --quick
#
# --cap-add SYS_NICE lets the load generator raise its priority. Models and data that are made are
# kept in the volume. A release has the target "release", into which a ready program is copied.
FROM golang:1.26-bookworm AS fetch
WORKDIR /src
COPY LICENSE scripts/install_onnxruntime.sh /src/
RUN ./install_onnxruntime.sh --dir /out/onnxruntime

FROM debian:bookworm-slim AS base
COPY --from=fetch /out/onnxruntime /usr/local/lib/onnxruntime
COPY --from=fetch /src/LICENSE /usr/local/share/doc/mlperf/LICENSE
ENV MLPERF_ORT_LIB=/usr/local/lib/onnxruntime/libonnxruntime.so.1 \
    MLPERF_CACHE_DIR=/data/cache \
    MLPERF_DATA_DIR=/data/data
RUN useradd --create-home --uid 1000 mlperf && mkdir /data && chown mlperf /data
USER mlperf
WORKDIR /data
VOLUME /data
ENTRYPOINT ["mlperf"]
CMD ["--help"]

FROM base AS release
ARG TARGETPLATFORM
COPY $TARGETPLATFORM/mlperf /usr/local/bin/mlperf

FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=0.9.0
RUN GOEXPERIMENT=simd go build -trimpath -ldflags "-s -w -X github.com/mlperf-go/mlperf/internal/cli.version=$VERSION" -o /out/mlperf ./cmd/mlperf

FROM base
COPY --from=build /out/mlperf /usr/local/bin/mlperf
