# An operator calls the switchover off before anything was released: A goes on with the same term.
# Proves C13, called off.
> start A
> start B
> run 40s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> when A is draining 3ms call-off A
> switchover A
> run 30s
[     40.000] A active > draining: switchover asked for: page of term 2 closed, the workload ends, the peer catches up
[     40.003] * call-off A
[     40.003] A draining > recovering: switchover called off; term 2 goes on here
[     40.007] A recovering > acquiring: term 2 goes on: last renewal 1901 ms ago, peer: read
[     40.011] A acquiring > confirming: claim of term 2 written: reads the peer once more
[     40.015] A confirming > opening: peer after the claim: read: opens
[     40.027] A opening > active: This hub is Active with term 2.
= A active, term 2, page open
= B standby, term 0
= one leads, the other stands by with a complete mirror
