# hub-a may lead for 30 s without a renewal, hub-b for 10 s. B starts anew when A cannot
# be read any more: how long to wait is what A said of itself when B last saw it.
# Proves H17 H2; found by a random schedule.
timing 40/30/2+5 15/10/2+5
> start A
> start B
> run 30s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> pause-observer A 60s
> down a
> run 1s
> kill B
> run 80s
[     31.108] B init > standby: standby: own led-term 0, peer's 2, last look: refused
[     49.598] A active > active: no look at the peer came from the observer: nothing counts as silence
[     58.106] A active > recovering: own lease not renewed for 30000 ms: term 2 is not valid any more, page closed
[     58.106] A recovering > recovering: own API server took no write for 30000 ms
[     72.106] A recovering > held: term 2 is held: last renewal 44000 ms ago, threshold 20000 ms, peer: read, workers: 0 of 0 answered
[     76.106] B standby > suspect: peer lease unchanged for 45000 ms, threshold 45000 ms (refused): promotion considered
[     76.108] B suspect > stopping: guards passed, final read: refused, workers: 0 fresh, 0 stale, 0 mute, 0 cut off: stops the mirror
[     76.109] B stopping > acquiring: mirror stopped: claims term 3
[     76.113] B acquiring > confirming: claim of term 3 written: reads the peer once more
[     76.115] B confirming > opening: peer after the claim: refused: opens
[     76.127] B opening > active: This hub was promoted to Active with term 3 (peer's was 2).
[     78.110] A held > yielding: peer is ahead: term 3, led 3; own 2, led 2
= A yielding, term 2
= B active, term 3, page open
= not settled: I12 the_other_stands_by: it does not
