"""Every claim of every refusal, and everything that may be ignored: what is forged instead is found out (L2, L13).

The true reducer is asked in as many ways as there are (``refused``); then its verdict is replaced by each other one.
"""

from __future__ import annotations

import pytest
from attrs import evolve

from agentcore import Effect, Limits, Reduction, Verdict, reduce
from agentcore.commands import RecordRejection
from agentcore.events import HOST_EVENTS, Finding, PolicyAllowed, TimerFired, ToolLost, ToolStarted, ToolSucceeded
from agentcore.rejections import Blame, Rejection, RejectionCode
from agentcore.states import Executing, Released, Stopping
from agentcore.testing.answers import answered_key
from agentcore.testing.laws import LAWS
from agentcore.testing.laws.case import Case, is_overdue
from agentcore.testing.laws.claims import CLAIMS, KNOWN, blamed, claims_of, never
from agentcore.testing.passage import Passage
from agentcore.testing.watch import broken
from tests.core.driver import Session, tool
from tests.laws.forging import asked, last, wrong
from tests.laws.refused import Met, pool

POOL = pool()
TIMELY = [met for met in POOL if not is_overdue(met.state, met.event)]
REFUSED = [met for met in TIMELY if met.judged.rejection is not None]
IGNORED = [met for met in TIMELY if met.judged.verdict is Verdict.IGNORED]
ACCEPTED = [met for met in TIMELY if met.judged.verdict is Verdict.ACCEPTED]
CHECKED = {name: LAWS[name] for name in ("L2", "L13")}


def said(met: Met, reduction: Reduction) -> str:
    """What the two laws say about a passage."""
    return broken(Passage(met.state, met.event, reduction), CHECKED) or ""


def refusal(met: Met, rejection: Rejection) -> Reduction:
    return Reduction(met.state, (RecordRejection(rejection, met.event.at),))


def forged(met: Met, code: RejectionCode) -> Reduction:
    """A rejection that is right in everything but perhaps its code."""
    claim, case = CLAIMS[code], Case(met.state, met.event)
    place = case.call.state if case.call is not None else met.state.phase
    named = (claim.named(case) if met.kind in claim.facts else ()) or ("",)
    blame = blamed(claim, met.kind)
    return refusal(met, Rejection(code, blame, type(place).__name__, met.kind.__name__, named[0]))


def changed(met: Met) -> Reduction:
    """An acceptance, whatever it leads to."""
    return Reduction(evolve(met.state, seq=met.state.seq + 1), ())


def law_of(met: Met) -> str:
    return "L2" if answered_key(met.event) is None else "L13"


def test_the_true_verdicts_offend_nobody():
    assert [met for met in POOL if broken(Passage(met.state, met.event, met.judged.reduction))] == []


def test_every_claim_is_made_somewhere():
    made = {(met.judged.rejection.code, met.kind) for met in REFUSED}
    assert made == {(code, kind) for code, claim in CLAIMS.items() for kind in claim.facts}
    assert set(CLAIMS) == set(RejectionCode)


def test_every_kind_that_may_be_ignored_is_ignored_somewhere():
    assert {met.kind for met in IGNORED} == {kind for kind, fact in KNOWN.items() if fact is not never}


def test_at_each_refusal_one_claim_is_true_and_it_is_the_one_that_is_made():
    for met in REFUSED:
        case = Case(met.state, met.event)
        assert [code for code, fact in claims_of(met.kind) if fact(case)] == [met.judged.rejection.code], met
        assert not KNOWN[met.kind](case)


def test_what_is_ignored_is_known_and_no_claim_is_true_of_what_is_accepted():
    assert all(KNOWN[met.kind](Case(met.state, met.event)) for met in IGNORED)
    for met in ACCEPTED:
        case = Case(met.state, met.event)
        assert [code for code, fact in (*claims_of(met.kind), ("known", KNOWN[met.kind])) if fact(case)] == [], met


@pytest.mark.parametrize("code", RejectionCode)
def test_another_word_for_a_refusal_is_an_untruth(code):
    for met in REFUSED:
        if code is not met.judged.rejection.code:
            told = said(met, forged(met, code))
            claimed = met.kind in CLAIMS[code].facts
            words = "and that is not so" if claimed else "may not be refused as"
            assert code is RejectionCode.CORE_DEFECT or (told.startswith("L2") and words in told), (met, told)


@pytest.mark.parametrize("met", [*IGNORED, *ACCEPTED], ids=lambda met: f"{met.kind.__name__}-{met.judged.reason}")
def test_what_is_to_be_heard_or_ignored_is_not_refused(met):
    for code, _ in claims_of(met.kind):
        told = said(met, forged(met, code))
        assert "and that is not so" in told or (met in IGNORED and "and it is known already" in told)


def test_news_is_not_ignored():
    for met in (*REFUSED, *ACCEPTED):
        assert said(met, Reduction(met.state, ())) == (
            f"{law_of(met)}: {met.kind.__name__} is ignored, and it is not known"
        )


def test_what_has_to_be_refused_is_not_accepted():
    for met in REFUSED:
        words = f"{law_of(met)}: {met.kind.__name__} is accepted, and it is {met.judged.reason}"
        assert said(met, changed(met)) == words


def test_what_is_known_is_not_accepted():
    for met in IGNORED:
        words = f"{law_of(met)}: {met.kind.__name__} is accepted, and it was known already"
        assert said(met, changed(met)) == words


class TestWords:
    """What else a rejection says."""

    def test_who_is_at_fault(self):
        for met in REFUSED:
            for blame in set(Blame) - {met.judged.rejection.blame}:
                told = said(met, refusal(met, evolve(met.judged.rejection, blame=blame)))
                assert f"{blame.value} is blamed for {met.kind.__name__}" in told

    def test_what_is_merely_late_is_nobody_s_fault(self):
        blames = {(met.judged.rejection.blame is Blame.STALE, met.judged.reason) for met in REFUSED}
        assert {(True, "stale-attempt"), (True, "already-settled"), (False, "foreign-call")} <= blames
        foreign = [met for met in REFUSED if met.judged.reason == "foreign-call"]
        assert all((met.judged.rejection.blame is Blame.HOST) == (met.kind in HOST_EVENTS) for met in foreign)

    @pytest.mark.parametrize("change", [{"offending": "9.9.9#9.9"}, {"state": "Nowhere"}, {"event": "NothingHappened"}])
    def test_what_does_not_fit_and_where(self, change):
        for met in REFUSED:
            told = said(met, refusal(met, evolve(met.judged.rejection, **change)))
            assert next(iter(change.values())) in told

    def test_when(self):
        for met in REFUSED:
            record = RecordRejection(met.judged.rejection, met.event.at + 1)
            assert f"is recorded as one of {met.event.at + 1}" in said(met, Reduction(met.state, (record,)))

    def test_what_is_refused_for_the_place_is_not_legal_there(self):
        placed = [met for met in REFUSED if CLAIMS[met.judged.rejection.code].placed]
        calls = [met for met in placed if hasattr(met.event, "call_id")]
        assert len(calls) > 3
        assert len(placed) > len(calls) + 3
        for met in placed:
            lying = evolve(met.judged.rejection, legal=(met.kind.__name__,))
            told = said(met, refusal(met, lying))
            written = met in calls and Case(met.state, met.event).call is None
            assert told == "" if written else "and said to be legal there" in told


class TestTwice:
    """An event that was accepted is judged once more, as it is told a second time."""

    def test_a_repetition_is_not_refused_for_what_is_not_so(self):
        step = last(asked())
        lying = Rejection(RejectionCode.ALREADY_SETTLED, Blame.STALE, "Idle", "ModelReplied", "1.1")

        def examine(state, event):
            judged = reduce.examine(state, event)
            if state is not step.after:
                return judged
            return evolve(judged, reduction=Reduction(state, (RecordRejection(lying, event.at),)))

        core = evolve(step.passage().core, examine=examine)
        wrong("L2", step.passage(core=core), "ModelReplied may not be refused as already-settled")

    def test_a_repetition_is_not_ignored_if_nothing_is_known_of_it(self):
        made = asked()
        made.steer(message_id="said")
        made.withdraw("said")
        step = last(made)

        def examine(state, event):
            judged = reduce.examine(state, event)
            return evolve(judged, reduction=Reduction(state, ())) if state is step.after else judged

        core = evolve(step.passage().core, examine=examine)
        wrong("L2", step.passage(core=core), "MessageWithdrawn is ignored, and it is not known")


class TestTime:
    """Where the time of a turn is up, an event meets the turn as its timer leaves it."""

    def overdue(self):
        made = asked(limits=Limits(turn_ms=100))
        arguments = made.call().arguments
        at = made.state.turn.due_at
        late = PolicyAllowed(at=at, call_id="1.1.0", epoch=0, attempt=1, arguments=arguments, digest="none")
        return Met(made.state, late, reduce.examine(made.state, late))

    def test_a_decision_that_comes_too_late_is_told_so(self):
        met = self.overdue()
        rejection = met.judged.rejection
        assert (rejection.code, rejection.state) == (RejectionCode.ALREADY_DECIDED, "Settled")
        assert said(met, met.judged.reduction) == ""
        assert "and that is not so" in said(met, forged(met, RejectionCode.STALE_ATTEMPT))

    def test_the_timer_itself_meets_the_turn_as_it_is(self):
        met = self.overdue()
        turn = TimerFired(at=met.event.at, timer_id="turn/1", epoch=0, attempt=1)
        judged = reduce.examine(met.state, turn)
        assert isinstance(judged.reduction.state.phase, Stopping) or judged.verdict is Verdict.ACCEPTED
        assert said(evolve(met, event=turn), judged.reduction) == ""

    def test_what_ends_before_it_comes_is_known(self):
        met = self.overdue()
        stray = ToolSucceeded(at=met.event.at, call_id="9.9.9", epoch=0, attempt=1, result="")
        foreign = Met(met.state, stray, reduce.examine(met.state, stray))
        assert said(foreign, foreign.judged.reduction) == ""
        assert "is not known" in said(foreign, Reduction(met.state, ()))
        assert "is accepted, and it is foreign-call" in said(foreign, changed(foreign))

    @pytest.mark.parametrize("stands", [Released, Executing])
    def test_a_first_word_of_a_call_that_ends_before_it_comes_is_judged_by_what_the_call_was(self, stands):
        session = Session(tool("write", Effect.FENCEABLE), limits=Limits(turn_ms=100))
        session.propose("write")
        session.allow()
        if stands is Executing:
            session.all_saved()
        assert isinstance(session.call().state, stands)
        late = ToolStarted(at=session.state.turn.due_at, call_id="1.1.0", epoch=0, attempt=1, handle="h")
        met = Met(session.state, late, reduce.examine(session.state, late))
        assert said(met, met.judged.reduction) == ""
        assert "is not known" in said(met, Reduction(met.state, ()))

    def test_a_loss_that_was_known_is_refused_where_the_absence_is_reported_before_it_comes(self):
        session = Session(tool("write", Effect.FENCEABLE), limits=Limits(turn_ms=100_000))
        session.execute("write", "write")
        attempt = session.execution("1.1.0")
        session.lose("1.1.0")
        session.inspected(Finding.NOT_EXECUTED, "1.1.0", conclusive=True)
        late = ToolLost(at=session.state.turn.due_at, **attempt, cause="connection reset")
        met = Met(session.state, late, reduce.examine(session.state, late))
        assert KNOWN[ToolLost](Case(met.state, late))
        assert met.judged.rejection.code is RejectionCode.ALREADY_SETTLED
        assert said(met, met.judged.reduction) == ""
