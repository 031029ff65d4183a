# A sleeps through B's promotion and still believes in its term when it wakes: its permit is over
# before it can push, and the workers that follow B's term refuse an older one.
# Proves C11 H16 C9.
workers 2
followers alive alive absent
> start A
> start B
> run 30s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> pause A 60s
> run 120s
[     48.110] B standby > suspect: peer lease unchanged for 20000 ms, threshold 20000 ms (read): promotion considered
[     48.114] B suspect > stopping: guards passed, final read: read, workers: 0 fresh, 2 stale, 0 mute, 0 cut off: stops the mirror
[     48.165] B stopping > acquiring: mirror stopped: claims term 3
[     48.169] B acquiring > confirming: claim of term 3 written: reads the peer once more
[     48.173] B confirming > opening: peer after the claim: read: opens
[     48.185] B opening > active: This hub was promoted to Active with term 3 (peer's was 2).
[     90.000] A active > recovering: own lease not renewed for 61894 ms: term 2 is not valid any more, page closed
[     90.004] A recovering > yielding: peer is ahead: term 3, led 3; own 2, led 2
[     90.008] A yielding > standby: no claim of this hub stands; term 2 is kept
= A standby, term 2
= B active, term 3, page open
= one leads, the other stands by with a complete mirror
