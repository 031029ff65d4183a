# A planned hand-over and back: page closed, everything mirrored, released, taken; no threshold.
# Proves C13.
workers 1
workload
> start A
> start B
> run 40s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> switchover A
> run 40s
[     40.000] A active > draining: switchover asked for: page of term 2 closed, the workload ends, the peer catches up
[     40.208] B standby > standby: the peer drains for this hub, term 2: the mirror is compared with it
[     40.217] A draining > releasing: the peer holds everything: gives it the lead
[     40.221] A releasing > standby: term 2 released to the peer; this hub is standby
[     40.225] B standby > stopping: the peer released term 2 to this hub: stops the mirror, claims
[     40.276] B stopping > acquiring: mirror stopped: claims term 3
[     40.280] B acquiring > confirming: claim of term 3 written: reads the peer once more
[     40.284] B confirming > opening: peer after the claim: read: opens
[     40.296] B opening > active: This hub was promoted to Active with term 3 (peer's was 2).
> switchover B
> run 40s
[     80.000] B active > draining: switchover asked for: page of term 3 closed, the workload ends, the peer catches up
[     80.208] A standby > standby: the peer drains for this hub, term 3: the mirror is compared with it
[     80.217] B draining > releasing: the peer holds everything: gives it the lead
[     80.221] B releasing > standby: term 3 released to the peer; this hub is standby
[     80.225] A standby > stopping: the peer released term 3 to this hub: stops the mirror, claims
[     80.276] A stopping > acquiring: mirror stopped: claims term 4
[     80.280] A acquiring > confirming: claim of term 4 written: reads the peer once more
[     80.284] A confirming > opening: peer after the claim: read: opens
[     80.296] A opening > active: This hub was promoted to Active with term 4 (peer's was 3).
= A active, term 4, page open
= B standby, term 3
= one leads, the other stands by with a complete mirror
