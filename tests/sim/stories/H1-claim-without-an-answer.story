# B's claim is applied and the answer lost: B asks its own Lease until it knows, and goes on.
# Proves H1 I10.
> start A
> start B
> run 30s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> reboot A
> when B is acquiring mute B>b
> when B is acquiring 9s join B>b
> run 90s
[     48.110] B standby > suspect: peer lease unchanged for 20000 ms, threshold 20000 ms (read): promotion considered
[     48.114] B suspect > stopping: guards passed, final read: read, workers: 0 fresh, 0 stale, 0 mute, 0 cut off: stops the mirror
[     48.165] B stopping > acquiring: mirror stopped: claims term 3
[     48.165] * mute B>b
[     57.165] * join B>b
[     60.169] B acquiring > confirming: claim of term 3 written: reads the peer once more
[     60.169] B confirming > yielding: claim of term 3 ran out before it opened
[     60.173] B yielding > standby: no claim of this hub stands; term 3 is kept
[     60.236] B confirming > opening: peer after the claim: read: opens
[     60.248] B opening > active: This hub was promoted to Active with term 5 (peer's was 2).
= B active, term 5, page open
= not settled: I12 the_other_stands_by: it does not
