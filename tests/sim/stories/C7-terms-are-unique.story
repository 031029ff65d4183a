# A crashes, B promotes without a worker, A restarts and cannot read B: it keeps its own term, and no
# term is ever taken twice. Both lead until the way between them is there again, which nobody can
# prevent; the worker takes the higher term only.
# Proves C7 I3 I4.
workers 1
no-witness
> start A
> start B
> run 30s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> cut B>w1
> reboot A
> run 40s
[     48.110] B standby > suspect: peer lease unchanged for 20000 ms, threshold 20000 ms (read): promotion considered
[     48.114] B suspect > stopping: guards passed, final read: read, workers: 0 fresh, 0 stale, 0 mute, 1 cut off: stops the mirror
[     48.165] B stopping > acquiring: mirror stopped: claims term 3
[     48.169] B acquiring > confirming: claim of term 3 written: reads the peer once more
[     48.173] B confirming > opening: peer after the claim: read: opens
[     48.185] B opening > active: This hub was promoted to Active with term 3 (peer's was 2).
> cut A>b
> start A
> run 60s
[     85.086] A init > recovering: term 2 goes on: last renewal 58866 ms ago, peer: refused
[     85.090] A recovering > acquiring: term 2 goes on: last renewal 58870 ms ago, peer: refused
[     85.094] A acquiring > confirming: claim of term 2 written: reads the peer once more
[     89.094] A confirming > opening: peer after the claim: refused: opens
[     89.106] A opening > active: This hub is Active with term 2.
> join A>b
> join B>w1
> run 60s
[    130.064] A active > yielding: peer claims term 3, led 3, above own 2: page closed
[    130.072] A yielding > standby: no claim of this hub stands; term 2 is kept
= A standby, term 2
= B active, term 3, page open
= one leads, the other stands by with a complete mirror
