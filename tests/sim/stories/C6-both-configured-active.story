# Both hubs are configured active, and A's API server does not answer when B starts for the first
# time: B waits until a page that A may have had is over.
# Proves C6 C8 H14; found by a random schedule.
active AB
> start A
> run 2900ms
> down a
> run 100ms
> start B
> run 15s
> up a
> run 60s
[     20.086] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[     20.090] A acquiring > confirming: claim of term 2 written: reads the peer once more
[     20.094] A confirming > opening: peer after the claim: read: opens
[     20.094] B init > standby: both hubs are configured active; the peer claimed first, term 2: this one is standby
[     20.106] A opening > active: This hub is Active with term 2.
= A active, term 2, page open
= B standby, term 0
= one leads, the other stands by with a complete mirror
