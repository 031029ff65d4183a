# Both hubs are configured active, and A's API server does not answer when B starts for the first
# time: B waits until a page that A may have had is over.
# Proves C6 C8 H14; found by a random schedule.
active AB
> start A
> run 2900ms
[      0.090] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.094] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.098] A confirming > opening: peer after the claim: read: opens
[      0.110] A opening > active: This hub is Active with term 2.
> down a
> run 100ms
> start B
> run 15s
[     12.098] A active > recovering: own lease not renewed for 10000 ms: term 2 is not valid any more, page closed
[     16.098] A recovering > held: term 2 is held: last renewal 14000 ms ago, threshold 20000 ms, peer: read, workers: 0 of 0 answered
> up a
> run 60s
[     18.106] A held > acquiring: term 2 goes on: last renewal 16008 ms ago, peer: read
[     18.112] A acquiring > confirming: claim of term 2 written: reads the peer once more
[     18.116] A confirming > opening: peer after the claim: read: opens
[     18.116] B init > standby: standby: own led-term 0, peer's 2, last look: read
[     18.128] A opening > active: This hub is Active with term 2.
= A active, term 2, page open
= B standby, term 0
= one leads, the other stands by with a complete mirror
