# A has the newest content and takes the lead back that B did not take. Its look after the claim finds
# no answer: who claims for that reason must have read the peer, so A withdraws and tries again later.
# Proves C8 C13.
> start A
> start B
> run 40s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> when A wrote released reboot B
> switchover A
> run 5s
[     40.000] A active > draining: switchover asked for: page of term 2 closed, the workload ends, the peer catches up
[     40.008] B standby > standby: the peer drains for this hub, term 2: the mirror is compared with it
[     40.017] A draining > releasing: the peer holds everything: gives it the lead
[     40.019] * reboot B
[     40.021] A releasing > standby: term 2 released to the peer; this hub is standby
> when A is confirming cut A>b
> run 40s
[     50.021] A standby > stopping: peer has no claim and led term 0 at most, this hub 2: takes over
[     50.022] A stopping > acquiring: mirror stopped: claims term 4
[     50.026] A acquiring > confirming: claim of term 4 written: reads the peer once more
[     50.026] * cut A>b
[     54.026] A confirming > yielding: peer could not be read after the claim (refused): backs out
[     54.030] A yielding > standby: no claim of this hub stands; term 4 is kept
[     60.021] A standby > suspect: peer lease unchanged for 20000 ms, threshold 20000 ms (refused): promotion considered
[     64.021] A suspect > stopping: guards passed, final read: refused, workers: 0 fresh, 0 stale, 0 mute, 0 cut off: stops the mirror
[     68.026] A confirming > opening: peer after the claim: refused: opens
[     68.038] A opening > active: This hub was promoted to Active with term 6 (peer's was 0).
> join A>b
> run 60s
= A active, term 6, page open
= not settled: I12 the_mirror_is_complete: it is not
