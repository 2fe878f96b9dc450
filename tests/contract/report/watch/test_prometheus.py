"""The endpoint for Prometheus on a real port."""

import re
import threading
import urllib.error
import urllib.request

import pytest

from becalm.errors import MachineError
from becalm.report.watch.exporter import exposed


def test_a_port_of_this_machine_gives_the_newest_text():
    messages = []
    with exposed(":0", messages.append) as take:
        url = re.search(r"http://127\.0\.0\.1:\d+/metrics", messages[0])[0]
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(url)
        assert refused.value.code == 503
        take("becalm_cpus 2\n")
        with urllib.request.urlopen(url) as answer:
            assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
            assert answer.read() == b"becalm_cpus 2\n"
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(url.replace("metrics", "etc/passwd"))
        assert refused.value.code == 404
        port = url.split(":")[2].split("/")[0]
        with pytest.raises(MachineError, match="not available"), exposed(f":{port}"):
            pass
    assert not any(thread.name == "becalm-prometheus" for thread in threading.enumerate())
