# By mistake both configurations name the same cluster. The hub that leads tells it and goes on; the
# Standby leaves at once, with the code that nobody starts again, and cannot lead.
# Proves H14.
> start A
> start B
> run 30s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> clash b on
> clash a on
> run 30s
[     30.110] B standby > leaving: peer has this hub's identity or cluster, or another pair of hubs: leaving
[     30.110] B exits 78
[     31.598] A active > active: peer shows this hub's identity or another pair while this hub leads
> clash b off
> clash a off
> start B
> run 60s
[     60.090] B init > standby: standby: own led-term 0, peer's 2, last look: read
= A active, term 2, page open
= B standby, term 0
= one leads, the other stands by with a complete mirror
