# As before, but A mirrored B for a while before the lights went out: it holds all that B wrote, and
# takes over after a threshold of silence.
# Proves C5 C6 H2.
> start A
> start B
> run 30s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> reboot A
> down a
> run 60s
[     48.110] B standby > suspect: peer lease unchanged for 20000 ms, threshold 20000 ms (refused): promotion considered
[     48.112] B suspect > stopping: guards passed, final read: refused, workers: 0 fresh, 0 stale, 0 mute, 0 cut off: stops the mirror
[     48.163] B stopping > acquiring: mirror stopped: claims term 3
[     48.167] B acquiring > confirming: claim of term 3 written: reads the peer once more
[     48.169] B confirming > opening: peer after the claim: refused: opens
[     48.181] B opening > active: This hub was promoted to Active with term 3 (peer's was 2).
> up a
> start A
> run 60s
[    105.086] A init > yielding: peer led term 3, this hub 2: it has the newer data
[    105.094] A yielding > standby: no claim of this hub stands; term 2 is kept
> reboot A
> reboot B
> down b
> run 600s
> start A
> run 60s
[    750.088] A init > standby: standby: own led-term 2, peer's 3, last look: refused
[    770.086] A standby > suspect: peer lease unchanged for 20000 ms, threshold 20000 ms (refused): promotion considered
[    770.088] A suspect > stopping: guards passed, final read: refused, workers: 0 fresh, 0 stale, 0 mute, 0 cut off: stops the mirror
[    770.089] A stopping > acquiring: mirror stopped: claims term 4
[    770.093] A acquiring > confirming: claim of term 4 written: reads the peer once more
[    770.095] A confirming > opening: peer after the claim: refused: opens
[    770.107] A opening > active: This hub was promoted to Active with term 4 (peer's was 3).
> up b
> start B
> run 60s
[    825.086] B init > yielding: peer led term 4, this hub 3: it has the newer data
[    825.094] B yielding > standby: no claim of this hub stands; term 3 is kept
= A active, term 4, page open
= B standby, term 3
= one leads, the other stands by with a complete mirror
