"""What mask_secrets hides, and what it leaves alone."""

import pytest

from ctk.change.mask import MASK, is_secret_key, mask_secrets


@pytest.mark.parametrize(
    "text",
    [
        '{"auths": {"registry.example": {"auth": "c2VjcmV0"}}}',
        '{\n  "password":\n    "c2VjcmV0"\n}',
        'password = "c2VjcmV0"\n',
        "identitytoken = 'c2VjcmV0'\n",
        '[plugins."io.containerd.grpc.v1.cri".registry.configs."a.b".auth]\n  username = "c2VjcmV0"\n',
        'auth = { username = "c2VjcmV0", password = "c2VjcmV0" }\n',
        '"registry_token" = "c2VjcmV0"',
        'Authorization = ["Basic c2VjcmV0"]\n',
        'secret = """\nfirst c2VjcmV0\nc2VjcmV0\n"""\nplain = 1\n',
        '# password = "c2VjcmV0"\n',
        'conmon_env = ["PATH=/bin", "API_TOKEN=c2VjcmV0"]\n',
        '{"proxies": {"http-proxy": "http://user:c2VjcmV0@proxy:3128"}}',
        '{"log-opts": {"splunk-token": "c2VjcmV0"}}',
        '{"auth": "c2VjcmV0',
        "password = c2VjcmV0\n",
        'tokens = [\n  "c2VjcmV0",\n  "c2VjcmV0",\n]\n',
        'client_secret="with \\" c2VjcmV0"\n',
    ],
)
def test_mask_hides_the_secret_and_keeps_the_lines(text: str) -> None:
    masked = mask_secrets(text)
    assert "c2VjcmV0" not in masked
    assert MASK in masked
    assert masked.count("\n") == text.count("\n")


@pytest.mark.parametrize(
    "text",
    [
        '{"runtimes": {"nvidia": {"args": [], "path": "nvidia-container-runtime"}}, "tlskey": "/etc/key.pem"}',
        '[plugins."io.containerd.grpc.v1.cri".containerd]\n  default_runtime_name = "nvidia" # it\'s "ours"\r\n',
        'global_auth_file = "/var/lib/kubelet/config.json"\nauthorization_plugins = ["opa"]\n',
        "\ufeff[a]\r\nx = 'y'\r\n",
        'imports = ["/etc/containerd/conf.d/*.toml"]\n\n[[list]]\nkey = "value"\n',
        "<html>it's = not json</html>\n",
        '{{ template "base" . }}\n[a]\nb = "c"\n',
        "[",
        "]}\n=:\n",
        "",
    ],
)
def test_mask_leaves_harmless_text_as_it_is(text: str) -> None:
    assert mask_secrets(text) == text


def test_mask_ends_with_the_secret_table() -> None:
    masked = mask_secrets('[x.auth]\nusername = "a1"\n[x.tls]\nca_file = "b2"\n')
    assert "a1" not in masked
    assert 'ca_file = "b2"' in masked


def test_mask_keeps_what_follows_a_secret_value() -> None:
    assert mask_secrets('{"auth": "x", "b": "y"}') == f'{{"auth": "{MASK}", "b": "y"}}'
    assert mask_secrets("password = 12 # why\n") == f"password = {MASK} # why\n"


@pytest.mark.parametrize("key", ["auth", "PASSWORD", "identity-token", "secret_access_key", "credentials", "DB_PASSWD"])
def test_secret_keys(key: str) -> None:
    assert is_secret_key(key)


@pytest.mark.parametrize("key", ["auth_file", "tlskey", "path", "authorization-plugins", "tokenizer", "username"])
def test_harmless_keys(key: str) -> None:
    assert not is_secret_key(key)
