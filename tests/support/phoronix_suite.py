"""A directory that looks like that of the Phoronix Test Suite (after version 10.8's sources)."""

import pytest

from becalm.workloads.phoronix_profile import base_name

OPENSSL = """
<PhoronixTestSuite>
  <TestInformation><Title>OpenSSL</Title></TestInformation>
  <TestProfile><Version>3.1.0</Version></TestProfile>
  <TestSettings>
    <Default><Arguments>speed</Arguments><PostArguments>-multi $NUM_CPU_CORES</PostArguments></Default>
    <Option>
      <DisplayName>Algorithm</DisplayName><Identifier>algo</Identifier><ArgumentPrefix>-a </ArgumentPrefix>
      <Menu>
        <Entry><Name>RSA4096</Name><Value>rsa4096</Value></Entry>
        <Entry><Name>AES-128-GCM</Name><Value>-evp aes-128-gcm</Value></Entry>
      </Menu>
    </Option>
    <Option>
      <DisplayName>Input</DisplayName><Identifier>input</Identifier><DefaultEntry>2</DefaultEntry>
      <Menu>
        <Entry><Name>Small</Name><Value>s</Value></Entry>
        <Entry><Name>Large</Name><Value>'l l'</Value></Entry>
      </Menu>
    </Option>
  </TestSettings>
</PhoronixTestSuite>
"""


PLAIN = "<PhoronixTestSuite><TestInformation><Title>x</Title></TestInformation></PhoronixTestSuite>"


RUN = """#!/bin/sh
echo "$@" > $LOG_FILE
pwd > $HOME/ran-in
echo 0 > ~/test-exit-status
"""


@pytest.fixture
def suite(tmp_path, monkeypatch):
    """Installs a test into a directory of the suite."""
    monkeypatch.setenv("PTS_USER_PATH_OVERRIDE", str(tmp_path))
    monkeypatch.delenv("PTS_TEST_INSTALL_ROOT_PATH", raising=False)
    monkeypatch.delenv("SUDO_UID", raising=False)

    def install(identifier, definition=PLAIN, program=None, script=RUN, tests=None, **scripts):
        place = (tests or tmp_path / "installed-tests") / identifier
        profile = tmp_path / "test-profiles" / identifier
        place.mkdir(parents=True)
        profile.mkdir(parents=True, exist_ok=True)
        (profile / "test-definition.xml").write_text(definition)
        for name, text in scripts.items():
            (profile / f"{name}.sh").write_text(text)
        file = place / (program or base_name(identifier))
        file.write_text(script)
        file.chmod(0o755)
        return place

    return install
