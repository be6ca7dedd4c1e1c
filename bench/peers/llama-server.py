"""llama.cpp's server from the wheel xllamacpp, started like `llama-server -m <file> --host <host> --port <port>`."""

import argparse
import time

import xllamacpp

parser = argparse.ArgumentParser()
for flag, long in (("-m", "--model"), ("-H", "--host"), ("-p", "--port")):
    parser.add_argument(flag, long, required=True)
given = parser.parse_args()
params = xllamacpp.CommonParams()
params.model.path = given.model
params.hostnames, params.port = [given.host], int(given.port)
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
print(f"ready {server.listening_address}", flush=True)
while True:
    time.sleep(3600)
