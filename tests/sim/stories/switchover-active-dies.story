# A dies after the release: B leads; the other way round B dies before it takes: A takes a new term.
# Proves C13, interrupted.
> start A
> start B
> run 40s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> when A wrote released kill A
> switchover A
> run 60s
[     40.000] A active > draining: switchover asked for: page of term 2 closed, the workload ends, the peer catches up
[     40.008] B standby > standby: the peer drains for this hub, term 2: the mirror is compared with it
[     40.017] A draining > releasing: the peer holds everything: gives it the lead
[     40.019] * kill A
[     40.025] B standby > stopping: the peer released term 2 to this hub: stops the mirror, claims
[     40.076] B stopping > acquiring: mirror stopped: claims term 3
[     40.080] B acquiring > confirming: claim of term 3 written: reads the peer once more
[     40.084] B confirming > opening: peer after the claim: read: opens
[     40.096] B opening > active: This hub was promoted to Active with term 3 (peer's was 2).
[     40.129] A init > standby: standby: own led-term 2, peer's 3, last look: read
= A standby, term 2
= B active, term 3, page open
= one leads, the other stands by with a complete mirror
