"""The server of a site: the files of the site, for this machine's own names only; it follows the store."""

import http.client
import re
from contextlib import closing

import pytest

import becalm
from becalm.errors import MachineError
from becalm.results.progress import Quiet
from becalm.verbs import publish_serve


@pytest.fixture
def store(store):
    becalm.run("spin 20ms", runs=5, host="sim:normal", seed=1, store=store)
    return store


@pytest.fixture
def served(store, tmp_path, monkeypatch):
    """Return the looks at the store, and the port."""
    monkeypatch.setattr(publish_serve, "EVERY_S", 0)
    monkeypatch.setattr(publish_serve, "SHARE", float("inf"))
    sentences = []
    looks = becalm.serve_site(tmp_path / "site", store=store, reports=0, ready=sentences.append)
    with closing(looks):
        next(looks)
        yield looks, int(re.search(r"http://127\.0\.0\.1:(\d+)/", sentences[0])[1])


def answer(port, path, host=None, method="GET"):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    with closing(connection):
        connection.putrequest(method, path, skip_host=True)
        connection.putheader("Host", host or f"127.0.0.1:{port}")
        connection.endheaders()
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read()


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html"),
        ("/index.html?x", "text/html"),
        ("/becalm.js", "text/javascript"),
        ("/becalm.css", "text/css"),
        ("/studies/1.html", "text/html"),
        ("/studies/1.csv", "text/csv"),
    ],
)
def test_files_of_the_site_are_served_with_a_policy(served, path, kind):
    status, headers, body = answer(served[1], path)
    assert status == 200
    assert headers["Content-Type"].startswith(kind)
    assert headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert int(headers["Content-Length"]) == len(body) > 0
    assert "Refresh" not in headers


@pytest.mark.parametrize(
    "path",
    ["/becalm-site.json", "/../runs.db", "/studies/../../runs.db", "/studies/", "/%2e%2e/runs.db", "//etc/passwd"],
)
def test_nothing_else_is_served(served, path):
    assert answer(served[1], path)[0] == 404


@pytest.mark.parametrize("host", ["example.org", "127.0.0.1", "localhost.example.org:80"])
def test_other_names_of_the_machine_are_refused(served, host):
    assert answer(served[1], "/", host)[0] == 403
    assert answer(served[1], "/", f"localhost:{served[1]}")[0] == 200


def test_a_head_has_no_body(served):
    status, headers, body = answer(served[1], "/", method="HEAD")
    assert (status, body) == (200, b"")
    assert int(headers["Content-Length"]) > 0


def test_the_site_follows_the_store(served, store):
    looks, port = served
    becalm.run("spin 21ms", runs=5, host="sim:normal", seed=2, store=store)
    assert next(looks).drawn == (2,)
    assert answer(port, "/studies/2.html")[0] == 200
    assert next(looks).drawn == ()


def test_pages_load_again_while_a_study_is_measured(served, store):
    """The store tells a study that is being measured by the lock that the measuring becalm holds."""
    looks, port = served
    seen = {}

    class Heard(Quiet):
        def started(self, study, names, goal):
            look = next(looks)
            seen.update(study=look.measuring, refresh=answer(port, "/")[1].get("Refresh"), state=look.studies[0].state)

    becalm.compare(["spin 20ms", "spin 21ms"], runs=5, host="sim:normal", seed=3, store=store, listener=Heard())
    assert seen == {"study": (2,), "refresh": "3", "state": "being measured"}
    assert next(looks).drawn == (2,)
    assert "Refresh" not in answer(port, "/")[1]


def test_a_port_that_is_taken_is_reported(served, store, tmp_path):
    with pytest.raises(MachineError, match="is not available"):
        next(becalm.serve_site(tmp_path / "other", store=store, reports=0, port=served[1]))
