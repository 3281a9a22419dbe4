"""The engines that Stanch is measured against, each taught the same rules in the cheapest form it has.

Each module has `DISTRIBUTION`, its name on the package index (and `KNOWN_AS` if people call it otherwise), and
`Rival(rules)` with `decide(call)`.
"""

RIVALS = {
    "cedarpy": "bench.rivals.cedar",
    "agt": "bench.rivals.agt",
    "pycasbin": "bench.rivals.pycasbin",
    "regorus": "bench.rivals.rego",
    "vakt": "bench.rivals.vakt",
}
