# Two of three workers do not answer at all when A dies. B is Active as soon as without them: neither
# the witness nor the push waits for a worker that is silent.
# Proves H20 H16 C3.
workers 3
followers alive alive alive
> start A
> start B
> run 30s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> hang w2
> hang w3
> deaden A
> down a
> run 60s
[     38.106] A active > recovering: own lease not renewed for 10000 ms: term 2 is not valid any more, page closed
[     42.106] A recovering > held: term 2 is held: last renewal 14000 ms ago, threshold 20000 ms, peer: read, workers: 1 of 3 answered
[     48.110] B standby > suspect: peer lease unchanged for 20000 ms, threshold 20000 ms (refused): promotion considered
[     48.112] B suspect > stopping: guards passed, final read: refused, workers: 0 fresh, 1 stale, 0 mute, 2 cut off: stops the mirror
[     48.163] B stopping > acquiring: mirror stopped: claims term 3
[     48.167] B acquiring > confirming: claim of term 3 written: reads the peer once more
[     48.169] B confirming > opening: peer after the claim: refused: opens
[     48.181] B opening > active: This hub was promoted to Active with term 3 (peer's was 2).
[     50.106] A held > yielding: peer is ahead: term 3, led 3; own 2, led 2
[     58.106] A yielding > yielding: own API server took no write for 30000 ms
> up w2
> up w3
> up a
> start A
> run 60s
[     90.154] A yielding > standby: no claim of this hub stands; term 2 is kept
= A standby, term 2
= B active, term 3, page open
= one leads, the other stands by with a complete mirror
