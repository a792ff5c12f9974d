"""A stand-in for the account side of Hugging Face: OpenID Connect on loopback, as much as a login
needs. It checks what a real one checks: who asks, where the answer goes, and that a code is used
once."""

from __future__ import annotations

import base64
import json
import secrets
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT, SECRET = "space-client-id", "zq7SpaceSecret-93kdLLm0xTail8Zed"


class Provider(ThreadingHTTPServer):
    """`account` is who sits at the browser; `given` is everything secret that was handed out."""

    daemon_threads = True

    def __init__(self, callback: str) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.callback = callback
        """Where answers may go, whatever its query."""
        self.account: str | None = "ann"
        self.broken = False
        self.given: list[str] = []
        self.scopes: list[str] = []
        self.addresses: list[str] = []
        """Of every request: what a provider would have in its log."""
        self.codes: dict[str, dict[str, str]] = {}
        self.key = RSAKey.generate_key(2048, {"kid": "one", "use": "sig", "alg": "RS256"})
        threading.Thread(target=self.serve_forever, args=[0.02], daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def close(self) -> None:
        self.shutdown()
        self.server_close()

    def code_for(self, asked: dict[str, str]) -> str:
        code = secrets.token_urlsafe(24)
        self.codes[code] = asked
        self.given.append(code)
        return code

    def token_for(self, asked: dict[str, str]) -> dict[str, object]:
        now = int(time.time())
        claims = {
            "iss": self.url, "sub": "6f1e", "aud": CLIENT, "iat": now, "exp": now + 3600,
            "nonce": asked.get("nonce", ""), "name": f"{self.account} with a surname",
            "profile": f"{self.url}/{self.account}", "picture": f"{self.url}/{self.account}.png",
        } | ({"preferred_username": self.account} if self.account else {})  # fmt: skip
        signed = jwt.encode({"alg": "RS256", "kid": "one"}, claims, self.key)
        access = "hf_oauth_" + secrets.token_urlsafe(32)
        self.given += [access, signed]
        return {"access_token": access, "id_token": signed, "token_type": "bearer",
                "expires_in": 28_800, "scope": asked["scope"]}  # fmt: skip


class _Request(BaseHTTPRequestHandler):
    server: Provider

    def do_GET(self) -> None:
        self.server.addresses.append(self.path)
        split = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(split.query).items()}
        if split.path == "/.well-known/openid-configuration":
            self._say(self._configuration())
        elif split.path == "/oauth/jwks":
            self._say({"keys": [self.server.key.as_dict(private=False)]})
        elif split.path == "/oauth/authorize":
            self._consent(asked)
        else:
            self._say({"error": "not found"}, 404)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        sent = {name: values[0] for name, values in parse_qs(body).items()}
        asked = self.server.codes.pop(sent.get("code", ""), None)
        known = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        if self.server.broken:
            self._say({"error": "temporarily_unavailable"}, 503)
        elif self.headers["Authorization"] != f"Basic {known}" or asked is None:
            self._say({"error": "invalid_grant"}, 400)
        elif sent.get("redirect_uri") != asked["redirect_uri"]:
            self._say({"error": "invalid_grant", "error_description": "another address"}, 400)
        else:
            self._say(self.server.token_for(asked))

    def _configuration(self) -> dict[str, object]:
        url = self.server.url
        return {
            "issuer": url, "authorization_endpoint": f"{url}/oauth/authorize",
            "token_endpoint": f"{url}/oauth/token", "jwks_uri": f"{url}/oauth/jwks",
            "id_token_signing_alg_values_supported": ["RS256"],
        }  # fmt: skip

    def _consent(self, asked: dict[str, str]) -> None:
        if asked["client_id"] != CLIENT or asked["redirect_uri"].split("?")[0] != (
            self.server.callback
        ):
            return self._say({"error": "no application of that name and address"}, 400)
        self.server.scopes.append(asked["scope"])
        yes = {"code": self.server.code_for(asked), "state": asked["state"]}
        no = {"error": "access_denied", "error_description": "<b>no</b>", "state": asked["state"]}
        joined = asked["redirect_uri"] + ("&" if "?" in asked["redirect_uri"] else "?")
        links = "".join(
            f'<p><a id="{name}" href="{joined}{urlencode(values)}">{name}</a>'.replace("&", "&amp;")
            for name, values in (("authorize", yes), ("cancel", no))
        )
        return self._say(f"<!doctype html><title>May it know who you are?</title>{links}")

    def _say(self, value: object, status: int = 200) -> None:
        page = isinstance(value, str)
        text = (value if isinstance(value, str) else json.dumps(value)).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html" if page else "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *args: object) -> None:
        """Quiet."""
