"""Every page and form by its path, for the dispatch; a refusal becomes a page as well."""

from __future__ import annotations

from functools import partial
from typing import Final

from identity_core.api.errors import explanation_of
from identity_core.api.request import Answer, Handler, PageForm, Request
from identity_core.errors import IdentityError, NotFound
from identity_ui.anybody import PublicPages
from identity_ui.consent import ConsentPages
from identity_ui.holder import HolderPages
from identity_ui.issuer import IssuerPages
from identity_ui.operator import OperatorPages
from identity_ui.render import ASK, CONSENT, page, redirect, static_pages
from identity_ui.verifier import VerifierPages

REQUEST: Final = "/ui/request/{requestId}"
FAULTS: Final = 500
"""Statuses from here on are not the reader's fault."""


MOVED: Final = {"/ui/delegations": "/ui/agents", "/ui/proofs": "/ui/activity?kind=proof", "/ui/export": "/ui/keys"}
"""Paths of earlier versions."""


async def _moved(place: str, request: Request) -> Answer:
    return redirect(place)


async def _unknown(request: Request) -> Answer:
    raise NotFound


def ui_pages(
    public: PublicPages, holder: HolderPages, operator: OperatorPages, verifier: VerifierPages
) -> dict[str, Handler]:
    """Return the pages that GET serves."""
    issuer = IssuerPages(holder)
    shown = {
        "/ui": public.front,
        "/ui/search": public.search,
        "/ui/did/{did}": public.did,
        "/ui/transaction/{transaction}": public.transaction,
        "/ui/verify": public.verify,
        "/ui/check-log": public.check_log,
        "/ui/sign-in": holder.sign_in,
        "/ui/home": holder.signed_in(holder.home),
        "/ui/agents": holder.signed_in(holder.agents),
        "/ui/agents/new": holder.signed_in(holder.new_agent),
        "/ui/activity": holder.signed_in(holder.activity),
        "/ui/proof/{proof}": holder.signed_in(holder.proof),
        "/ui/credentials": holder.signed_in(holder.credential_list),
        "/ui/keys": holder.signed_in(holder.keys),
        "/ui/issued": holder.signed_in(issuer.issued),
        "/ui/types": holder.signed_in(issuer.types),
        "/ui/issue": holder.signed_in(issuer.form),
        "/ui/results": holder.signed_in(verifier.results),
        "/ui/recover": holder.recover,
    } | operator.pages()
    if holder.requests is not None:
        shown[CONSENT] = holder.signed_in(ConsentPages(holder, holder.requests).form)
        shown |= {ASK: holder.signed_in(verifier.form), REQUEST: verifier.show_request}
    unknown = ("/ui/{page:path}", *ui_forms(public, holder, operator, verifier))
    shown = dict.fromkeys(unknown, _unknown) | shown
    moved = {path: partial(_moved, place) for path, place in MOVED.items()}
    return moved | {"/": public.root} | {path: explained(handler) for path, handler in shown.items()} | static_pages()


def ui_forms(
    public: PublicPages, holder: HolderPages, operator: OperatorPages, verifier: VerifierPages
) -> dict[str, PageForm]:
    """Return the forms that POST serves. A session is begun, and an agent answered, by a script, which reads the API's
    shape of a refusal."""
    consent: dict[str, PageForm] = {}
    if holder.requests is not None:
        pages = ConsentPages(holder, holder.requests)
        consent[CONSENT] = PageForm(explained(holder.signed_in(pages.read)))
        consent[f"{CONSENT}/reply"] = PageForm(pages.reply)
        consent[REQUEST] = PageForm(explained(verifier.answered))
    return consent | {
        "/ui/verify": PageForm(explained(public.verified)),
        "/ui/agents/stop": PageForm(explained(holder.signed_in(holder.stop))),
        "/ui/session": PageForm(holder.sessions.begin),
        "/ui/sign-out": PageForm(explained(holder.sign_out)),
        "/ui/operator/session": PageForm(explained(operator.begin)),
        "/ui/operator/sign-out": PageForm(explained(operator.end)),
    }


def explained(handler: Handler) -> Handler:
    """Return ``handler``, whose refusals are pages. Internal errors are raised to the guard, which logs them."""

    async def run(request: Request) -> Answer:
        try:
            return await handler(request)
        except IdentityError as error:
            if error.status >= FAULTS:
                raise
            # Who is signed in is not looked up again: that may be what was refused.
            explanation = explanation_of(error.code)
            return page("error.html", request, status=error.status, error=error, explanation=explanation)

    return run
