# Somebody deletes the policies of hub-b, the Standby, and of hub-a, which leads: hub-b's server lets
# every writer in, which is told once; hub-a's lets its own in, as it should. Both go on as they are.
# Proves C1.
> start A
> start B
> run 30s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> unfence b on
> unfence a on
> run 90s
[     31.098] B standby > standby: the API server does not enforce this hub's role
> unfence b off
> unfence a off
> run 60s
> unfence b on
> run 60s
[    181.098] B standby > standby: the API server does not enforce this hub's role
= A active, term 2, page open
= B standby, term 0
= one leads, the other stands by with a complete mirror
