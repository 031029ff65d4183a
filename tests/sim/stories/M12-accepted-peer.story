# hub-a's cluster is built anew from nothing behind the same address. B does not take it for the peer,
# nor its silence for the peer's, until an operator says so; terms are kept.
# Proves M12 C4.
> start A
> start B
> run 30s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> accept-peer B
> replace a on
> run 60s
[     30.110] B standby > standby: the peer is another cluster than before: disarmed until it is accepted
> accept-peer B
> run 30s
[     90.000] B standby > standby: the peer's new cluster is accepted; terms are kept, the mirror starts anew
= A active, term 2, page open
= B standby, term 0
= one leads, the other stands by with a complete mirror
