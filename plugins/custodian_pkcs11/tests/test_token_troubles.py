"""Faults of a token: taken out, sessions lost, PINs refused, processes killed, keys that are not keys."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pkcs11
import pytest
from identity_custodian_pkcs11 import Pkcs11Settings, keys, open_custodian
from identity_custodian_pkcs11 import token as token_module
from identity_custodian_pkcs11.custodian import Pkcs11Custodian
from identity_custodian_pkcs11.keys import CURVES, Label
from identity_custodian_pkcs11.module import Module, TokenAway, loaded
from identity_custodian_pkcs11.token import Connection, Token
from identity_kit.conformance.custodian import SECRET
from pkcs11 import Attribute, ObjectClass

from identity_codec import ed25519, multikey, p256
from identity_core.errors import PluginUnavailable
from identity_core.plugin import BuildContext, NotConfigured, PluginError
from identity_core.ports.custodian import KeyNameTaken, KeyNotHeld, KeyRefused
from tests.softhsm import PIN, SoftHsm

DID = "did:ids:x"
LABEL = Label("k", multikey.ED25519, DID, "log")
log = logging.getLogger("identity.pkcs11")


class Clock:
    """Its seconds are a test's own."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        return datetime(2026, 1, 2, tzinfo=UTC)

    def monotonic(self) -> float:
        return self.seconds


def context(folder: Path) -> BuildContext:
    return BuildContext(clock=Clock(), logger=log, data_dir=folder, database_url=None)


def one_key(custodian: Pkcs11Custodian, name: str = "k", did: str = DID) -> str:
    return custodian.generate(name, multikey.ED25519, did=did, purpose="log")


def verified(custodian: Pkcs11Custodian, name: str = "k") -> None:
    _, raw = multikey.decode_public(custodian.public_key(name))
    ed25519.verify(raw, b"message", custodian.sign(name, b"message"))


class Bench:
    """A token of its own, its custodian and ways to get at what lies under it."""

    def __init__(self, softhsm: SoftHsm, folder: Path) -> None:
        self.softhsm = softhsm
        self.label = softhsm.new_token()
        self.folder = folder
        self.context = context(folder)
        self.custodian = self.open()

    @property
    def clock(self) -> Clock:
        clock: Any = self.context.clock
        return clock

    @property
    def module(self) -> Module:
        return loaded(self.softhsm.module)

    def settings(self, **changed: Any) -> Pkcs11Settings:
        return Pkcs11Settings(**{"module": self.softhsm.module, "token": self.label, "pin": PIN, **changed})

    def open(self, **changed: Any) -> Pkcs11Custodian:
        return open_custodian(self.settings(**changed), self.context)

    def on_token(self, job: Callable[[Any], Any]) -> Any:
        """Return the result of ``job`` with the session."""
        return self.custodian._token.run(lambda connection: job(connection.session))

    def run(self, program: str, *arguments: str) -> subprocess.Popen[str]:
        """A process in which ``t`` is this module, ``custodian`` one on the same token, and ``arguments`` are sys.argv."""
        lines = (
            "import sys, importlib.util",
            f"spec = importlib.util.spec_from_file_location('t', {__file__!r})",
            "t = importlib.util.module_from_spec(spec)",
            "spec.loader.exec_module(t)",
            f"settings = t.Pkcs11Settings(module=t.Path({str(self.softhsm.module)!r}), token={self.label!r}, pin=t.PIN)",
            f"custodian = t.open_custodian(settings, t.context(t.Path({str(self.folder)!r})))",
            program,
        )
        command = [sys.executable, "-c", "\n".join(lines), *arguments]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)

    def ran(self, program: str) -> str:
        process = self.run(program)
        output, _ = process.communicate(timeout=300)
        assert process.returncode == 0
        return output.strip()


@pytest.fixture
def bench(softhsm: SoftHsm, tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(softhsm, tmp_path)
    yield bench
    bench.custodian.close()


# -- What it is set up with --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", ["module", "token", "pin"])
def test_missing_setting_is_named(tmp_path: Path, missing: str) -> None:
    values: dict[str, Any] = {"module": Path("/x.so"), "token": "t", "pin": "1"}
    with pytest.raises(NotConfigured, match=f"{missing} in .* set IDENTITY_PLUGINS_PKCS11_{missing.upper()}"):
        open_custodian(Pkcs11Settings(**(values | {missing: None})), context(tmp_path))


def test_installation_that_doesnt_choose_it_loads_nothing_of_it() -> None:
    program = (
        "import sys, identity_custodian_pkcs11 as plugin\n"
        "assert plugin.identity_provide_custodian().name == 'pkcs11'\n"
        "print([name for name in sys.modules if name.split('.')[0] == 'pkcs11'])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("content", "reason"), [(None, "there is no PKCS#11 library"), (b"text", "cannot be used"), (b"", "cannot be used")]
)
def test_a_wrong_module_is_one_clear_line(tmp_path: Path, content: bytes | None, reason: str) -> None:
    path = tmp_path / "some.so"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PluginError, match=reason) as refusal:
        open_custodian(Pkcs11Settings(path, "t", PIN), context(tmp_path))
    assert str(path) in str(refusal.value)
    assert PIN not in str(refusal.value)


def test_a_library_that_is_not_of_pkcs11_is_one_clear_line(tmp_path: Path) -> None:
    import _ctypes

    with pytest.raises(PluginError, match="C_GetFunctionList"):
        open_custodian(Pkcs11Settings(Path(_ctypes.__file__), "t", PIN), context(tmp_path))


def test_a_wrong_label_is_one_clear_line(bench: Bench) -> None:
    with pytest.raises(PluginError, match=r"no token has the label 'other'.*plugins.pkcs11.token"):
        bench.open(token="other")


def test_two_tokens_of_one_label_are_not_chosen_from(bench: Bench) -> None:
    bench.softhsm.new_token("twin")
    bench.softhsm.new_token("twin")
    with pytest.raises(PluginError, match="two tokens have the label 'twin'"):
        bench.open(token="twin")


@pytest.mark.parametrize("pin", ["wrong-pin", "!", "é" * 400])
def test_a_wrong_pin_is_one_clear_line(bench: Bench, pin: str) -> None:
    bench.custodian.close()
    with pytest.raises(PluginError, match=r"PIN.*plugins.pkcs11.pin") as refusal:
        bench.open(pin=pin)
    assert pin not in str(refusal.value)
    again = bench.open()
    one_key(again)
    again.close()


def test_a_pin_that_was_refused_is_never_tried_again(bench: Bench) -> None:
    """The token's PIN changes while the service runs: one wrong try and no more, also when the old PIN is right again,
    which a second try would show."""
    one_key(bench.custodian)
    bench.on_token(lambda session: session.set_pin(PIN, "another-pin"))
    bench.module.restart()
    with pytest.raises(PluginUnavailable):
        bench.custodian.sign("k", b"message")
    bench.clock.seconds += 100
    renewed = bench.open(pin="another-pin")
    renewed._token.run(lambda connection: connection.session.set_pin("another-pin", PIN))
    renewed.close()
    with pytest.raises(PluginUnavailable) as refusal:
        bench.custodian.sign("k", b"message")
    assert "the PIN is wrong" in str(refusal.value.__cause__)


class Refusing:
    """Stands for a PKCS#11 library whose token takes no login; SoftHSM locks no PIN."""

    def __init__(self, error: type[Exception]) -> None:
        self.error = error
        self.logins = 0
        self.label = "t"

    def get_slots(self, token_present: bool) -> list[Refusing]:
        return [self]

    def get_token(self) -> Refusing:
        return self

    def open(self, *, rw: bool, user_pin: str) -> None:
        self.logins += 1
        raise self.error

    def finalize(self) -> None:
        pass

    def initialize(self) -> None:
        pass


@pytest.mark.parametrize("error", [*token_module._PIN_REFUSED])
def test_a_locked_pin_is_said_and_left_alone(error: type[Exception]) -> None:
    library = Refusing(error)
    token = Token(Module(Path("x.so"), library), "t", PIN, clock=Clock(), logger=log)
    for _ in range(3):
        with pytest.raises(TokenAway, match=r"the token t: the .*PIN"):
            token.open()
    assert library.logins == 1


# -- What is lost while it runs ----------------------------------------------------------------------------------------


def log_out(bench: Bench) -> None:
    bench.on_token(lambda session: session.close())


def finalise(bench: Bench) -> None:
    bench.module._library.finalize()


def restart(bench: Bench) -> None:
    bench.module._library.reinitialize()


def out_and_in(bench: Bench) -> None:
    bench.softhsm.take_out(bench.label)
    with pytest.raises(PluginUnavailable):
        bench.custodian.sign("k", b"message")
    bench.softhsm.put_back(bench.label)
    bench.clock.seconds += token_module.RETRY_SECONDS


@pytest.mark.parametrize("loss", [log_out, finalise, restart, out_and_in])
@pytest.mark.parametrize(
    "use",
    [
        verified,
        one_key,
        lambda custodian: one_key(custodian, "new"),
        lambda custodian: custodian.import_key("new", multikey.ED25519, SECRET, did=DID, purpose="log"),
        lambda custodian: custodian.destroy("k"),
        lambda custodian: custodian.public_key("k"),
    ],
    ids=["sign", "generate-again", "generate", "import", "destroy", "public-key"],
)
def test_a_lost_session_comes_back_by_itself(
    bench: Bench, loss: Callable[[Bench], None], use: Callable[[Pkcs11Custodian], object]
) -> None:
    public = one_key(bench.custodian)
    loss(bench)
    use(bench.custodian)
    with contextlib.suppress(KeyNotHeld):
        assert bench.custodian.public_key("k") == public
        verified(bench.custodian)


def test_a_token_that_is_gone_is_not_a_token_without_keys(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    """SoftHSM finds nothing on a token that was taken out, without an error."""
    public = one_key(bench.custodian)
    bench.softhsm.take_out(bench.label)
    uses: list[Callable[[], object]] = [
        lambda: bench.custodian.sign("k", b"message"),
        lambda: bench.custodian.public_key("k"),
        lambda: bench.custodian.public_key("absent"),
        lambda: one_key(bench.custodian),
        lambda: one_key(bench.custodian, "new"),
        lambda: bench.custodian.destroy("k"),
        lambda: bench.custodian.sign_bbs("k", b"", []),
    ]
    for use in uses:
        with pytest.raises(PluginUnavailable):
            use()
        bench.clock.seconds += 100
    assert caplog.text.count("no token has the label") == 1
    bench.softhsm.put_back(bench.label)
    assert bench.custodian.public_key("k") == public
    assert caplog.text.count("is back") == 1
    verified(bench.custodian)


def test_a_token_that_is_away_is_left_alone_for_a_second(bench: Bench) -> None:
    one_key(bench.custodian)
    bench.softhsm.take_out(bench.label)
    with pytest.raises(PluginUnavailable):
        bench.custodian.sign("k", b"message")
    bench.softhsm.put_back(bench.label)
    starts = bench.module.generation
    for _ in range(5):
        with pytest.raises(PluginUnavailable):
            bench.custodian.sign("k", b"message")
    assert bench.module.generation == starts
    bench.clock.seconds += token_module.RETRY_SECONDS
    verified(bench.custodian)


@pytest.mark.parametrize("name", ["k", "new"])
def test_another_custodians_logout_is_not_a_token_without_keys(bench: Bench, name: str) -> None:
    """A logout counts for every session of the process, and a session that is not logged in finds nothing, without an
    error."""
    public = one_key(bench.custodian)
    other = bench.open()
    assert other.public_key("k") == public
    bench.custodian.close()
    assert one_key(other, name) == other.public_key(name)
    assert other.public_key("k") == public
    other.close()


def test_a_forked_child_does_not_touch_the_session(bench: Bench) -> None:
    program = """
import os
t.one_key(custodian)
child = os.fork()
if child == 0:
    try:
        custodian.sign("k", b"message")
    except t.PluginUnavailable:
        os._exit(7)
    os._exit(1)
_, status = os.waitpid(child, 0)
t.verified(custodian)
print(os.waitstatus_to_exitcode(status))
"""
    assert bench.ran(program) == "7"


# -- Several processes -------------------------------------------------------------------------------------------------


def test_processes_that_generate_one_name_get_one_key(bench: Bench) -> None:
    processes = [bench.run("print(t.one_key(custodian))") for _ in range(4)]
    answers = [process.communicate(timeout=300)[0].strip() for process in processes]
    assert [process.returncode for process in processes] == [0] * 4
    assert {bench.custodian.public_key("k")} == {*answers}


def test_change_of_another_process_is_seen(bench: Bench) -> None:
    first = one_key(bench.custodian)
    verified(bench.custodian)
    bench.ran("custodian.destroy('k')")
    with pytest.raises(KeyNotHeld):
        bench.custodian.sign("k", b"message")
    second = bench.ran("print(t.one_key(custodian))")
    assert second not in ("", first)
    assert bench.custodian.public_key("k") == second
    third = bench.ran("custodian.destroy('k'); print(t.one_key(custodian, did='did:ids:y'))")
    verified(bench.custodian)
    assert bench.custodian.public_key("k") == third
    with pytest.raises(KeyNameTaken):
        one_key(bench.custodian)


def test_a_killed_process_leaves_whole_keys(bench: Bench) -> None:
    """Kills in the middle of generating: every key that was answered is there and signs, and the token still works."""
    program = """
for n in range(1000):
    print(f"{sys.argv[1]}-{n}", t.one_key(custodian, f"{sys.argv[1]}-{n}"), flush=True)
"""
    answered: dict[str, str] = {}
    for number in range(5):
        process = bench.run(program, str(number))
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(3 + number)]
        process.kill()
        lines += process.stdout.readlines()
        process.wait(30)
        process.stdout.close()
        answered.update(line.split() for line in lines if line.endswith("\n"))
    assert len(answered) >= 20
    for name, public in answered.items():
        assert bench.custodian.public_key(name) == public
        verified(bench.custodian, name)
    one_key(bench.custodian, "after")


# -- What lies on the token --------------------------------------------------------------------------------------------


def objects(session: Any, **attributes: Any) -> list[Any]:
    return list(session.get_objects({getattr(Attribute, name): value for name, value in attributes.items()}))


@pytest.mark.parametrize("made", ["generated", "imported"])
def test_a_private_key_cannot_be_read(bench: Bench, made: str) -> None:
    if made == "generated":
        one_key(bench.custodian)
    else:
        bench.custodian.import_key("k", multikey.ED25519, SECRET, did=DID, purpose="log")
    (key,) = bench.on_token(lambda session: objects(session, CLASS=ObjectClass.PRIVATE_KEY))
    assert (key[Attribute.SENSITIVE], key[Attribute.EXTRACTABLE], key[Attribute.PRIVATE]) == (True, False, True)
    with pytest.raises(pkcs11.AttributeSensitive):
        key[Attribute.VALUE]
    for path in (bench.softhsm.folder / "tokens").rglob("*"):
        assert not path.is_file() or SECRET not in path.read_bytes(), f"{path.name} holds a secret"


def test_names_do_not_show_without_the_pin(bench: Bench) -> None:
    one_key(bench.custodian)
    assert len(bench.on_token(lambda session: objects(session, LABEL="k"))) == 2
    bench.custodian.close()
    (token,) = bench.module.tokens(bench.label)
    session = token.open()
    assert list(session.get_objects({})) == []
    session.close()


def test_a_secret_that_begins_with_zeros_is_taken_whole(bench: Bench) -> None:
    """A byte string and not a number, whatever a binding thinks of ``CKA_VALUE``."""
    secret = bytes(4) + SECRET[:24] + bytes(4)
    public = bench.custodian.import_key("k", multikey.ED25519, secret, did=DID, purpose="log")
    assert public == multikey.encode_public(multikey.ED25519, ed25519.generate(secret).public)
    assert bench.custodian.sign("k", b"message") == ed25519.sign(secret, b"message")


def test_two_keys_of_one_name_are_no_key(bench: Bench) -> None:
    one_key(bench.custodian)
    bench.on_token(lambda session: keys.generate(session, LABEL, CURVES["name"]))
    restart(bench)
    for use in (verified, one_key):
        with pytest.raises(PluginUnavailable, match="two private keys"):
            use(bench.custodian)
    bench.custodian.destroy("k")
    one_key(bench.custodian)
    verified(bench.custodian)


def test_foreign_public_key_is_detected(bench: Bench) -> None:
    one_key(bench.custodian)
    mallory = ed25519.generate(SECRET).public

    def swap(session: Any) -> None:
        (public,) = objects(session, CLASS=ObjectClass.PUBLIC_KEY, LABEL="k")
        attributes = {name: public[name] for name in (Attribute.ID, Attribute.EC_PARAMS)}
        public.destroy()
        attributes |= {Attribute.CLASS: ObjectClass.PUBLIC_KEY, Attribute.KEY_TYPE: pkcs11.KeyType.EC_EDWARDS}
        attributes |= {Attribute.TOKEN: True, Attribute.LABEL: "k", Attribute.EC_POINT: b"\x04\x20" + mallory}
        session.create_object(attributes)

    bench.on_token(swap)
    restart(bench)
    for use in (verified, one_key):
        with pytest.raises(PluginUnavailable, match="does not sign"):
            use(bench.custodian)


def test_a_name_stands_for_one_key_of_one_type(bench: Bench) -> None:
    """Also when a key of the other type was put beside it."""
    made = bench.custodian.generate("k", multikey.P256, did=DID, purpose="log")
    with pytest.raises(KeyNameTaken):
        one_key(bench.custodian)
    assert bench.custodian.public_key("k") == made
    bench.on_token(lambda session: keys.generate(session, LABEL, CURVES["name"]))
    restart(bench)
    with pytest.raises(PluginUnavailable, match="two private keys"):
        bench.custodian.sign("k", b"message")
    assert bench.on_token(keys.names) == ["k"]
    bench.custodian.destroy("k")
    assert bench.on_token(lambda session: objects(session)) == []


@pytest.mark.parametrize("secret", [bytes(32), b"\xff" * 32])
def test_invalid_p256_secret_does_not_reach_the_token(bench: Bench, secret: bytes) -> None:
    with pytest.raises(KeyRefused):
        bench.custodian.import_key("k", multikey.P256, secret, did=DID, purpose="log")
    assert bench.on_token(lambda session: objects(session)) == []


def test_foreign_p256_point_is_detected(bench: Bench) -> None:
    bench.custodian.generate("k", multikey.P256, did=DID, purpose="log")
    mallory = b"\x04" + b"".join(p256.coordinates(p256.public_key(SECRET)))

    def swap(session: Any) -> None:
        (public,) = objects(session, CLASS=ObjectClass.PUBLIC_KEY, LABEL="k")
        attributes = {name: public[name] for name in (Attribute.ID, Attribute.EC_PARAMS)}
        public.destroy()
        attributes |= {Attribute.CLASS: ObjectClass.PUBLIC_KEY, Attribute.KEY_TYPE: pkcs11.KeyType.EC}
        attributes |= {Attribute.TOKEN: True, Attribute.LABEL: "k", Attribute.EC_POINT: b"\x04\x41" + mallory}
        session.create_object(attributes)

    bench.on_token(swap)
    restart(bench)
    with pytest.raises(PluginUnavailable, match="does not sign"):
        bench.custodian.sign("k", b"message")


def test_a_private_key_without_its_public_one_is_not_used(bench: Bench) -> None:
    one_key(bench.custodian)
    bench.on_token(lambda session: objects(session, CLASS=ObjectClass.PUBLIC_KEY)[0].destroy())
    restart(bench)
    with pytest.raises(PluginUnavailable, match="not exactly one public key"):
        one_key(bench.custodian)


def test_half_a_key_of_a_process_that_died_is_in_nobodys_way(bench: Bench) -> None:
    one_key(bench.custodian)
    bench.on_token(lambda session: objects(session, CLASS=ObjectClass.PRIVATE_KEY)[0].destroy())
    with pytest.raises(KeyNotHeld):
        bench.custodian.sign("k", b"message")
    one_key(bench.custodian)
    verified(bench.custodian)


class TakesNothing:
    """A session of a token that makes keys and takes none."""

    def __init__(self, session: Any) -> None:
        self.session = session

    def __getattr__(self, name: str) -> Any:
        return getattr(self.session, name)

    def create_object(self, attributes: dict[Attribute, Any]) -> Any:
        if attributes[Attribute.CLASS] == ObjectClass.PRIVATE_KEY:
            raise pkcs11.TemplateInconsistent
        return self.session.create_object(attributes)


def test_token_that_takes_no_keys_refuses_them_and_keeps_nothing(bench: Bench) -> None:
    def job(connection: Connection) -> None:
        keys.take(TakesNothing(connection.session), LABEL, SECRET, CURVES["name"])  # type: ignore[arg-type]

    with pytest.raises(KeyRefused, match="takes no private keys"):
        bench.custodian._token.run(job)
    assert bench.on_token(lambda session: objects(session)) == []


@pytest.mark.parametrize("point", [b"\x04\x21" + bytes(33), bytes(31), b"", b"\x04\x20" + bytes(33)])
def test_a_point_of_another_curve_is_no_key(point: bytes) -> None:
    for kind in (multikey.ED25519, multikey.P256):
        with pytest.raises(keys.KeyDamaged):
            keys._point(kind, point)


@pytest.mark.parametrize("point", [bytes(65), b"\x04" + bytes(64), b"\x04" + b"\xff" * 64, b"\x02" + bytes(32)])
def test_invalid_p256_point_is_refused(point: bytes) -> None:
    for wrapped in (point, b"\x04\x41" + point):
        with pytest.raises(keys.KeyDamaged):
            keys._point(multikey.P256, wrapped)


def test_a_point_is_read_with_and_without_its_wrapping() -> None:
    raw = b"\x04\x20" + bytes(range(30))
    for wrapped in (raw, b"\x04\x20" + raw):
        assert keys._point(multikey.ED25519, wrapped) == raw
    compressed = p256.public_key(SECRET)
    written = b"\x04" + b"".join(p256.coordinates(compressed))
    for wrapped in (written, b"\x04\x41" + written):
        assert keys._point(multikey.P256, wrapped) == compressed


# -- What never shows --------------------------------------------------------------------------------------------------


def test_the_pin_does_not_show(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    bench.softhsm.take_out(bench.label)
    with pytest.raises(PluginUnavailable) as refusal:
        one_key(bench.custodian)
    bench.softhsm.put_back(bench.label)
    shown = f"{bench.custodian!r} {bench.custodian._token!r} {bench.settings()!r} {refusal.value!r} {refusal.value.__cause__!r}"
    assert PIN not in shown + caplog.text


def test_waiting_for_the_token_does_not_block_the_loop(bench: Bench) -> None:
    """The calls have a thread of their own: while the token is busy with something else, the loop continues."""
    from identity_core.plugin import in_threads

    threaded: Any = in_threads(bench.custodian, workers=1)
    busy, released = threading.Event(), threading.Event()

    def occupy(session: Any) -> bool:
        busy.set()
        return released.wait(60)

    async def scenario() -> None:
        occupied = asyncio.create_task(asyncio.to_thread(bench.on_token, occupy))
        assert await asyncio.to_thread(busy.wait, 60)
        call = asyncio.create_task(threaded.generate("k", multikey.ED25519, did=DID, purpose="log"))
        for _ in range(20):
            await asyncio.sleep(0.001)
        assert not call.done()
        released.set()
        assert await occupied, "the loop stood still until the token was free"
        assert await call

    asyncio.run(scenario())
