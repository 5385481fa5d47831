"""moto's S3 server as a process of its own: ``python s3_server.py`` prints its port, and ends with its stdin.

A line ``bucket key n`` on stdin stores an object n times more, under ``copies/00000-<name>`` and so on: ten
thousand requests that only prepare a test would take longer than the test.
"""

import logging
import sys

from moto.core import DEFAULT_ACCOUNT_ID
from moto.s3.models import s3_backends
from moto.server import ThreadedMotoServer
from werkzeug.serving import WSGIRequestHandler


def copy(bucket, key, number):
    backend = s3_backends[DEFAULT_ACCOUNT_ID]["aws"]
    content = backend.get_object(bucket, key).value
    name = key.rpartition("/")[2]
    for k in range(int(number)):
        backend.put_object(bucket, f"copies/{k:05d}-{name}", content)


def main():
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    WSGIRequestHandler.disable_nagle_algorithm = True  # or the body would wait until the head is confirmed
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    print(server.get_host_and_port()[1], flush=True)
    for line in sys.stdin:
        copy(*line.split())
        print("copied", flush=True)
    server.stop()


if __name__ == "__main__":
    main()
