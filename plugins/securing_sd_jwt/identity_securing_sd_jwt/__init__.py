"""The securing format ``dc+sd-jwt``: credentials that wallets keep, whose claims are disclosed one by one."""

from __future__ import annotations

from identity_core.plugin import BuildContext, NoSettings, Provider, hookimpl
from identity_core.ports.securing import SecuringFormat
from identity_securing_sd_jwt.securing import SdJwtVc

__all__ = ["SdJwtVc", "identity_provide_securing"]


def build(settings: NoSettings, context: BuildContext) -> SdJwtVc:
    """Return the format; it needs nothing of the context."""
    return SdJwtVc()


@hookimpl
def identity_provide_securing() -> Provider[SecuringFormat]:
    """Return the format."""
    return Provider("sd-jwt", build, summary="SD-JWT VC: claims that a wallet discloses one by one")
