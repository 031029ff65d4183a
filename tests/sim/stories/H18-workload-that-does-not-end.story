# A switchover is asked for, and A's workload does not end. Nothing is said to B, nothing is released:
# the switchover is given up, and A goes on with its term.
# Proves H18 C13.
workload
> start A
> start B
> run 30s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> workload A hangs
> switchover A
> run 40s
[     30.000] A active > draining: switchover asked for: page of term 2 closed, the workload ends, the peer catches up
[     35.500] A draining > recovering: switchover given up: a step took too long; term 2 goes on here
[     35.504] A recovering > acquiring: term 2 goes on: last renewal 1398 ms ago, peer: read
[     35.508] A acquiring > confirming: claim of term 2 written: reads the peer once more
[     35.512] A confirming > opening: peer after the claim: read: opens
[     35.520] A opening > active: This hub is Active with term 2.
> workload A works
> run 30s
= A active, term 2, page open
= B standby, term 0
= one leads, the other stands by with a complete mirror
