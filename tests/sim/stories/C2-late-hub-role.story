# A's API server stands still; what was sent to it meanwhile is applied when it runs again, the latest
# first. HubRole is told again and says what is, not what was.
# Proves C2; found by a random schedule.
> start A
> start B
> run 30s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> slow A>a 9000ms
> run 8100ms
> slow A>a 0ms
> run 120s
[     38.106] A active > recovering: own lease not renewed for 10000 ms: term 2 is not valid any more, page closed
[     42.106] A recovering > held: term 2 is held: last renewal 14000 ms ago, threshold 20000 ms, peer: read, workers: 0 of 0 answered
[     42.114] A held > acquiring: term 2 goes on: last renewal 14008 ms ago, peer: read
[     42.118] A acquiring > confirming: claim of term 2 written: reads the peer once more
[     42.122] A confirming > opening: peer after the claim: read: opens
[     42.134] A opening > active: This hub is Active with term 2.
= A active, term 2, page open
= B standby, term 0
= one leads, the other stands by with a complete mirror
