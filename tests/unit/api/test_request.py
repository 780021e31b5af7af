import pytest

from identity_codec.strict_json import JsonRefused
from identity_core.api.request import Answer, Request
from identity_core.domain.callers import Caller
from identity_core.errors import AuthRequired


def test_headers_are_encoded_once() -> None:
    answer = Answer(200, b"", "text/plain", [("ETag", '"1"')])
    assert answer.encoded_headers() == [(b"content-type", b"text/plain"), (b"etag", b'"1"')]
    assert answer.encoded_headers() is answer.encoded_headers()


def test_answer_without_body_has_no_media_type() -> None:
    assert Answer(304, headers=[("ETag", '"1"')]).encoded_headers() == [(b"etag", b'"1"')]
    assert Answer(204).encoded_headers() == []


def test_headers_of_a_request() -> None:
    request = Request(headers={"accept": "a, b", "host": "h"})
    request.repeated = {"accept": ["a", "b"]}
    assert request.header("accept") == "a, b"
    assert request.header("if-match") is None
    assert request.all_headers("accept") == ["a", "b"]
    assert request.all_headers("host") == ("h",)
    assert request.all_headers("if-match") == ()


def test_json_is_parsed_once() -> None:
    request = Request(body_octets=b'{"a":[null]}')
    assert request.json() is request.json()


def test_null_is_a_value() -> None:
    request = Request(body_octets=b"null")
    assert request.json() is None
    request.body_octets = b"1"
    assert request.json() is None


def test_bad_json_is_refused_each_time() -> None:
    request = Request(body_octets=b'{"a":1,"a":2}')
    for _ in range(2):
        with pytest.raises(JsonRefused):
            request.json()


def test_a_stranger_is_not_authenticated() -> None:
    with pytest.raises(AuthRequired):
        assert Request().authenticated
    caller = Caller()
    assert Request(caller=caller).authenticated is caller
