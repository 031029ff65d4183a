# A has released its lead to B, and both die before B has claimed it. Nobody holds a claim when they
# come back. B's own Lease still says that it holds everything and A's that it is B's: B takes it.
# Proves C13 C6.
> start A
> start B
> run 30s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> when A wrote released stop B
> when A wrote released 20ms stop A
> switchover A
> run 60s
[     30.000] A active > draining: switchover asked for: page of term 2 closed, the workload ends, the peer catches up
[     30.008] B standby > standby: the peer drains for this hub, term 2: the mirror is compared with it
[     30.017] A draining > releasing: the peer holds everything: gives it the lead
[     30.019] * stop B
[     30.021] A releasing > standby: term 2 released to the peer; this hub is standby
[     30.039] * stop A
> start A
> start B
> run 60s
[     90.090] A init > standby: standby: own led-term 2, peer's 0, last look: read
[     90.090] B init > standby: standby: own led-term 0, peer's 2, last look: read
[     92.090] B standby > stopping: the peer released term 2 to this hub: stops the mirror, claims
[     92.091] B stopping > acquiring: mirror stopped: claims term 3
[     92.095] B acquiring > confirming: claim of term 3 written: reads the peer once more
[     92.099] B confirming > opening: peer after the claim: read: opens
[     92.111] B opening > active: This hub was promoted to Active with term 3 (peer's was 2).
= A standby, term 2
= B active, term 3, page open
= one leads, the other stands by with a complete mirror
