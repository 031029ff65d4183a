# The Standby's mirror cannot say that it has everything: A goes on with the same term.
# Proves C13 (4).
> start A
> start B
> run 40s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> when A is draining kill-syncer B
> switchover A
> run 60s
[     40.000] A active > draining: switchover asked for: page of term 2 closed, the workload ends, the peer catches up
[     40.000] * kill-syncer B
[     40.008] B standby > standby: the peer drains for this hub, term 2: the mirror is compared with it
[     49.012] A draining > recovering: switchover given up: the peer's mirror could not catch up; term 2 goes on here
[     49.016] A recovering > acquiring: term 2 goes on: last renewal 10910 ms ago, peer: read
[     49.020] A acquiring > confirming: claim of term 2 written: reads the peer once more
[     49.024] A confirming > opening: peer after the claim: read: opens
[     49.036] A opening > active: This hub is Active with term 2.
= A active, term 2, page open
= B standby, term 0
= one leads, the other stands by with a complete mirror
