# A's API server is stopped, not dead: connections are accepted, nothing answers. Not slower than a
# crash by more than one request's deadline.
> start A
> start B
> run 30s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> hang a
> run 60s
[     38.106] A active > recovering: own lease not renewed for 10000 ms: term 2 is not valid any more, page closed
[     42.106] A recovering > held: term 2 is held: last renewal 14000 ms ago, threshold 20000 ms, peer: read, workers: 0 of 0 answered
[     48.110] B standby > suspect: peer lease unchanged for 20000 ms, threshold 20000 ms (time-out): promotion considered
[     52.110] B suspect > stopping: guards passed, final read: time-out, workers: 0 fresh, 0 stale, 0 mute, 0 cut off: stops the mirror
[     52.161] B stopping > acquiring: mirror stopped: claims term 3
[     52.165] B acquiring > confirming: claim of term 3 written: reads the peer once more
[     52.165] A held > yielding: peer is ahead: term 3, led 0; own 2, led 2
[     56.165] B confirming > opening: peer after the claim: time-out: opens
[     56.177] B opening > active: This hub was promoted to Active with term 3 (peer's was 2).
[     58.106] A yielding > yielding: own API server took no write for 30000 ms
> up a
> run 60s
[     94.173] A yielding > standby: no claim of this hub stands; term 2 is kept
= A standby, term 2
= B active, term 3, page open
= one leads, the other stands by with a complete mirror
