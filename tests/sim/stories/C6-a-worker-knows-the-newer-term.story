# A comes back without its peer. A worker follows term 3, in which B led: A withdraws its claim, and
# does not promote its older content later on either.
# Proves C6 C5 I7; found by a random schedule.
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
> reboot A
> run 40s
[     48.110] B standby > suspect: peer lease unchanged for 20000 ms, threshold 20000 ms (read): promotion considered
[     48.114] B suspect > stopping: guards passed, final read: read, workers: 0 fresh, 2 stale, 0 mute, 0 cut off: stops the mirror
[     48.165] B stopping > acquiring: mirror stopped: claims term 3
[     48.169] B acquiring > confirming: claim of term 3 written: reads the peer once more
[     48.173] B confirming > opening: peer after the claim: read: opens
[     48.185] B opening > active: This hub was promoted to Active with term 3 (peer's was 2).
> down b
> start A
> run 90s
[     78.173] B active > recovering: own lease not renewed for 10000 ms: term 3 is not valid any more, page closed
[     82.173] B recovering > held: term 3 is held: last renewal 14000 ms ago, threshold 20000 ms, peer: read, workers: 2 of 2 answered
[     85.086] A init > yielding: peer led term 3, this hub 2: it has the newer data
[     85.094] A yielding > standby: no claim of this hub stands; term 2 is kept
[     90.086] A standby > suspect: peer lease unchanged for 20000 ms, threshold 20000 ms (refused): promotion considered
[     90.086] A suspect > standby: promotion refused: mirror not complete for led-term 3, lag 0 ms
[     98.173] B held > held: own API server took no write for 30000 ms
> up b
> run 60s
[    160.637] B held > acquiring: term 3 goes on: last renewal 92464 ms ago, peer: read
[    160.641] B acquiring > confirming: claim of term 3 written: reads the peer once more
[    160.645] B confirming > opening: peer after the claim: read: opens
[    160.657] B opening > active: This hub is Active with term 3.
= A standby, term 2
= B active, term 3, page open
= one leads, the other stands by with a complete mirror
