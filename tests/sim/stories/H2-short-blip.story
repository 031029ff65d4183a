# A's API server is away for less than the threshold: A goes on with its term.
# Proves H2 C7 (2).
> start A
> start B
> run 30s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> down a
> run 14s
[     38.106] A active > recovering: own lease not renewed for 10000 ms: term 2 is not valid any more, page closed
[     42.106] A recovering > held: term 2 is held: last renewal 14000 ms ago, threshold 20000 ms, peer: read, workers: 0 of 0 answered
> up a
> run 60s
[     44.128] A held > acquiring: term 2 goes on: last renewal 16022 ms ago, peer: read
[     44.132] A acquiring > confirming: claim of term 2 written: reads the peer once more
[     44.136] A confirming > opening: peer after the claim: read: opens
[     44.148] A opening > active: This hub is Active with term 2.
= A active, term 2, page open
= B standby, term 0
= one leads, the other stands by with a complete mirror
