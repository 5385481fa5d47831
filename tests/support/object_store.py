"""A real S3 server on loopback behind a proxy, and rows in it."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

from pyarrow import fs

from s3_proxy import Proxy

HERE = Path(__file__).parent
KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
BUCKET = "rows"


class ObjectStore:
    """The port of the server, the proxy before it, and the process of the server."""

    def __init__(self):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
        command = [sys.executable, str(HERE / "s3_server.py")]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)
        self.port = int(self.process.stdout.readline())
        self.proxy = Proxy(self.port)
        self.direct = self.filesystem(self.port)
        self.direct.create_dir(BUCKET)

    @property
    def address(self):
        return f"http://127.0.0.1:{self.proxy.port}"

    @property
    def environment(self):
        """What lets a client find it."""
        return KEYS | {"AWS_ENDPOINT_URL": self.address, "AWS_EC2_METADATA_DISABLED": "true"}

    def filesystem(self, port=None, **options):
        """Return it as Arrow sees it."""
        own = {"access_key": "key", "secret_key": "secret", "region": "us-east-1", "scheme": "http"}
        own |= {"endpoint_override": f"127.0.0.1:{port or self.proxy.port}", "allow_bucket_creation": True}
        return fs.S3FileSystem(**own | options)

    def fsspec(self, **options):
        """Return it as fsspec sees it."""
        import s3fs

        return s3fs.S3FileSystem(
            key="key", secret="secret", endpoint_url=self.address, skip_instance_cache=True, **options
        )

    def upload(self, local, path):
        """Copy a folder or a file, past the proxy, without the keys by which Arrow marks folders."""
        for file in (file for file in [local, *local.rglob("*")] if file.is_file()):
            key = path if file == local else f"{path}/{file.relative_to(local).as_posix()}"
            with self.direct.open_output_stream(f"{BUCKET}/{key}") as stream:
                stream.write(file.read_bytes())

    def multiply(self, key, number):
        """Store an object many times more, in the folder ``copies``."""
        self.process.stdin.write(f"{BUCKET} {key} {number}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "copied\n"

    def close(self):
        self.proxy.close()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()  # which ends it
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
