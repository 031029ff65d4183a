# No worker can say anything, A cannot be read, and B's observer dies while B waits for the last read:
# no answer is B's own blindness, and B stays what it is.
# Proves M18 C4.
> start A
> start B
> run 30s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> cut B>a
> run 19s
[     48.110] B standby > suspect: peer lease unchanged for 20000 ms, threshold 20000 ms (refused): promotion considered
> kill-observer B 20s
> run 10s
[     54.110] B suspect > suspect: peer cannot be read for a fault of this side: no dialer or observer
[     54.110] B suspect > standby: promotion refused: peer cannot be read for a fault of this side (no dialer or observer), and no worker attests that it is stale
[     56.610] B standby > standby: no look at the peer came from the observer: nothing counts as silence
> join B>a
> run 60s
= A active, term 2, page open
= B standby, term 0
= one leads, the other stands by with a complete mirror
