"""The environments of ``jaxmarl`` by name. Imports nothing of it, since that takes seconds."""

from __future__ import annotations

SCENARIOS = (
    "10m_vs_11m",
    "25m",
    "27m_vs_30m",
    "2s3z",
    "3m",
    "3s5z",
    "3s5z_vs_3s6z",
    "3s_vs_5z",
    "5m_vs_6m",
    "6h_vs_8z",
    "8m",
    "smacv2_10_units",
    "smacv2_20_units",
    "smacv2_5_units",
)
"""Of SMAX; ``smax/<scenario>`` is played against the heuristic enemy."""

CLASSES = {
    "HeuristicEnemySMAX": "HeuristicEnemySMAX",
    "MPE_simple_adversary_v3": "SimpleAdversaryMPE",
    "MPE_simple_crypto_v3": "SimpleCryptoMPE",
    "MPE_simple_facmac_3a_v1": "SimpleFacmacMPE3a",
    "MPE_simple_facmac_6a_v1": "SimpleFacmacMPE6a",
    "MPE_simple_facmac_9a_v1": "SimpleFacmacMPE9a",
    "MPE_simple_facmac_v1": "SimpleFacmacMPE",
    "MPE_simple_push_v3": "SimplePushMPE",
    "MPE_simple_reference_v3": "SimpleReferenceMPE",
    "MPE_simple_speaker_listener_v4": "SimpleSpeakerListenerMPE",
    "MPE_simple_spread_v3": "SimpleSpreadMPE",
    "MPE_simple_tag_v3": "SimpleTagMPE",
    "MPE_simple_v3": "SimpleMPE",
    "MPE_simple_world_comm_v3": "SimpleWorldCommMPE",
    "SMAX": "SMAX",
    "coin_game": "CoinGame",
    "hanabi": "Hanabi",
    "jaxnav": "JaxNav",
    "overcooked": "Overcooked",
    "overcooked_v2": "OvercookedV2",
    "switch_riddle": "SwitchRiddle",
}
"""The class behind each registered name that has an adapter."""

NAMES = tuple(
    sorted(
        [f"smax/{scenario}" for scenario in SCENARIOS]
        + [name.replace("MPE_", "mpe/") for name in CLASSES]
    )
)

_NO_AGENTS = "gives arrays in place of a dictionary over its agents"
_BRAX = "needs brax, whose episodes jaxmarl resets by itself"
_ROBOTARIUM = "needs jaxrobotarium, which is no package of the index"
REFUSED = {
    "LearnedPolicyEnemySMAX": "needs a policy and its parameters, which a name cannot give",
    "storm": _NO_AGENTS,
    "storm_2p": _NO_AGENTS,
    "storm_np": _NO_AGENTS,
    "ant_4x2": _BRAX,
    "halfcheetah_6x1": _BRAX,
    "hopper_3x1": _BRAX,
    "humanoid_9|8": _BRAX,
    "walker2d_2x3": _BRAX,
    "JaxRobotarium_navigation": _ROBOTARIUM,
    "JaxRobotarium_discovery": _ROBOTARIUM,
    "JaxRobotarium_material_transport": _ROBOTARIUM,
    "JaxRobotarium_warehouse": _ROBOTARIUM,
    "JaxRobotarium_arctic_transport": _ROBOTARIUM,
    "JaxRobotarium_foraging": _ROBOTARIUM,
    "JaxRobotarium_rware": _ROBOTARIUM,
    "JaxRobotarium_predator_prey": _ROBOTARIUM,
}
"""Registered in ``jaxmarl``, without an adapter: why."""


def registered(task: str) -> tuple[str, str | None]:
    """The name that ``jaxmarl`` has for a task, and the scenario it is played in.

    >>> registered("mpe/simple_tag_v3"), registered("smax/3m"), registered("hanabi")
    (('MPE_simple_tag_v3', None), ('HeuristicEnemySMAX', '3m'), ('hanabi', None))
    """
    family, _, rest = task.partition("/")
    if family == "smax":
        return "HeuristicEnemySMAX", rest
    if family == "mpe":
        return f"MPE_{rest}", None
    return task, None
