"""SkyNet at full size: 36 nodes, 284 GPUs, 14 labs; "you always get what you pay for"."""

import pytest
from rehearsing import finding_lines, outcomes, tried

PROMISES = [
    "SKY-034", "SKY-035", "SKY-036", "SKY-037", "SKY-102", "SKY-103", "SKY-104", "SKY-107", "SKY-119",
    "SKY-120", "SKY-121", "SKY-123", "SKY-124", "SKY-125", "SKY-126", "SKY-127", "SKY-128", "SKY-129",
    "SKY-130", "SKY-132", "SKY-136", "SKY-137", "SKY-138", "SKY-140", "SKY-153", "SKY-154", "SKY-155",
    "SKY-156", "SKY-157", "SKY-158", "SKY-187", "SKY-188", "SKY-205", "SKY-207", "SKY-208", "SKY-209",
]  # fmt: skip


@pytest.mark.promise(*PROMISES)
def test_every_promise_of_skynet_is_kept_at_full_size() -> None:
    rehearsal = tried("skynet")
    assert not outcomes(rehearsal, "broken", "void"), finding_lines(rehearsal)
    # its labs own a number of GPUs of any type, and none of its partitions requires jobs to request GPUs
    assert outcomes(rehearsal, "not made") == {"least", "owned"}, finding_lines(rehearsal)
    # the pool was full of borrowers, and then full of owners
    assert max(sum(moment.borrowed.values()) for moment in rehearsal.moments) == 284
    assert (
        max(sum(moment.owned.values()) for moment in rehearsal.moments) >= 284 - 32
    )  # the users of one lab share the rest
    assert max(len(moment.owned) for moment in rehearsal.moments) == 14
