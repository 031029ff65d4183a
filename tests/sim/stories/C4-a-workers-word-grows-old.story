# B's observer dies with the threshold. A comes back while nobody answers the final read: what the
# workers said before is too old to stand for it, so that they are asked again.
# Proves C3 C4 M18; found by a random schedule.
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
> stop A
> when B is suspect kill-observer B 40s
> run 21500ms
[     48.110] B standby > suspect: peer lease unchanged for 20000 ms, threshold 20000 ms (read): promotion considered
[     48.110] * kill-observer B 40s
> start A
> run 60s
[     51.590] A init > recovering: term 2 goes on: last renewal 24898 ms ago, peer: read
[     51.594] A recovering > acquiring: term 2 goes on: last renewal 24902 ms ago, peer: read
[     51.598] A acquiring > confirming: claim of term 2 written: reads the peer once more
[     51.602] A confirming > opening: peer after the claim: read: opens
[     51.614] A opening > active: This hub is Active with term 2.
[     54.110] B suspect > suspect: peer cannot be read for a fault of this side: no dialer or observer
[     54.114] B suspect > standby: promotion refused: 2 of 2 workers see the peer renew, 0 see it stale
[     56.614] B standby > standby: no look at the peer came from the observer: nothing counts as silence
= A active, term 2, page open
= B standby, term 0
= one leads, the other stands by with a complete mirror
