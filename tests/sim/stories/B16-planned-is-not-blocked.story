# The switchover from A to B was planned. When B dies soon after it, A takes over at once: no block.
# Proves B16 C13.
block 600s
> start A
> start B
> run 40s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> switchover A
> run 60s
[     40.000] A active > draining: switchover asked for: page of term 2 closed, the workload ends, the peer catches up
[     40.008] B standby > standby: the peer drains for this hub, term 2: the mirror is compared with it
[     40.017] A draining > releasing: the peer holds everything: gives it the lead
[     40.021] A releasing > standby: term 2 released to the peer; this hub is standby
[     40.025] B standby > stopping: the peer released term 2 to this hub: stops the mirror, claims
[     40.076] B stopping > acquiring: mirror stopped: claims term 3
[     40.080] B acquiring > confirming: claim of term 3 written: reads the peer once more
[     40.084] B confirming > opening: peer after the claim: read: opens
[     40.096] B opening > active: This hub was promoted to Active with term 3 (peer's was 2).
> reboot B
> run 60s
[    118.088] A standby > suspect: peer lease unchanged for 20000 ms, threshold 20000 ms (read): promotion considered
[    118.092] A suspect > stopping: guards passed, final read: read, workers: 0 fresh, 0 stale, 0 mute, 0 cut off: stops the mirror
[    118.143] A stopping > acquiring: mirror stopped: claims term 4
[    118.147] A acquiring > confirming: claim of term 4 written: reads the peer once more
[    118.151] A confirming > opening: peer after the claim: read: opens
[    118.163] A opening > active: This hub was promoted to Active with term 4 (peer's was 3).
= A active, term 4, page open
= not settled: I12 the_other_stands_by: it does not
