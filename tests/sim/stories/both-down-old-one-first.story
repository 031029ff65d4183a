# A led term 2, B leads term 3, both lose power, and A, whose content is the older one, is back first
# and alone. It does not go on with its term; B comes back and does.
# Proves C6.
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
> reboot B
> down b
> run 600s
> up a
> start A
> run 60s
[    705.086] A init > recovering: term 2 goes on: last renewal 678866 ms ago, peer: refused
[    705.090] A recovering > held: term 2 is held: last renewal 678870 ms ago, threshold 20000 ms, peer: refused, workers: 0 of 0 answered
> up b
> start B
> run 60s
[    750.084] A held > yielding: peer is ahead: term 3, led 3; own 2, led 2
[    750.088] A yielding > standby: no claim of this hub stands; term 2 is kept
[    765.086] B init > recovering: term 3 goes on: last renewal 678803 ms ago, peer: read
[    765.090] B recovering > acquiring: term 3 goes on: last renewal 678807 ms ago, peer: read
[    765.094] B acquiring > confirming: claim of term 3 written: reads the peer once more
[    765.098] B confirming > opening: peer after the claim: read: opens
[    765.110] B opening > active: This hub is Active with term 3.
= A standby, term 2
= B active, term 3, page open
= one leads, the other stands by with a complete mirror
