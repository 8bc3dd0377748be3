"""Environments of PettingZoo's turn-based interface."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from mava.environments.base import Actions
from mava.environments.pettingzoo.adapter import ByGroup, PettingZooAdapter
from mava.types import AgentID, TimeStep


class AECEnvironment(PettingZooAdapter):
    """An ``AECEnv`` as a Mava environment: one timestep is one turn.

    After each turn every agent is given the reward it earned in that turn, and agents in the game
    the view they have now. Turns of agents that are out of the game are taken with ``None`` and
    never show.

    What a value learned here means. The agent to move is the only one with a choice; its action's
    reward goes on arriving during the turns of the others, and the next timestep is not one in
    which it chooses. By default (``waiting="pass"``) agents that wait are alive too, with no legal
    action, which means that they can only pass (action 0). Their values are trained on what the
    others do, so one-step targets, n-step returns and GAE are true as they are; the discount counts
    turns of the game. It costs a share of each batch on rows without a choice, and needs
    observations that show whose turn it is. With ``waiting="idle"`` the agent to move is the only
    one that is ``alive``: for learners that go from one own turn to the next and sum the rewards in
    between, since a target from the very next timestep would rest on a value that is never trained.

    Nobody acts on the timestep that truncates the game. Its legal actions are those of a game that
    goes on: of every agent where waiting agents are idle, else of the one that comes after the last
    mover in the order of ``possible_agents``, while the others pass.

    Args:
        env: follows ``pettingzoo.AECEnv``; it need not inherit from it.
        name, groups, global_state, reset_kwargs: as for ``PettingZooEnvironment``.
        waiting: ``"pass"`` or ``"idle"``, see above.
    """

    def __init__(
        self,
        env: Any,
        name: str | None = None,
        groups: Mapping[str, Sequence[AgentID]] | None = None,
        global_state: bool = False,
        reset_kwargs: Mapping[str, Any] | None = None,
        waiting: str = "pass",
    ) -> None:
        if waiting not in ("idle", "pass"):
            raise ValueError(f"waiting is 'idle' or 'pass', not {waiting!r}")
        super().__init__(env, name, groups, global_state, reset_kwargs)
        self._waiting = waiting

    def reset(self, seed: int) -> TimeStep:
        self._call_reset(seed)
        self._begin(self._env.agents)
        self._mark(self._env.agents, self._env.terminations, self._env.truncations)
        observations, infos = self._views()
        return self._turn(observations, infos, self._zero_reward(), True, ())

    def step(self, actions: Actions) -> TimeStep:
        env = self._env
        mover = env.agent_selection
        group, row = self._places[mover]
        self._call_step(self._decoded(actions)[group.name][row])
        rewards = env.rewards
        reward: ByGroup = {
            group.name: self._reward(group, [rewards.get(agent, 0.0) for agent in group.agents])
            for group in self._groups
        }
        self._mark(env.agents, env.terminations, env.truncations)
        observations, infos = self._views()
        return self._turn(observations, infos, reward, False, self._cut_with_a_choice(mover))

    def _cut_with_a_choice(self, mover: AgentID) -> Collection[AgentID]:
        """The agents that the turn of ``mover`` truncated and that have legal actions yet."""
        if not self._cut or self._waiting == "idle":
            return self._cut
        place = self._agents.index(mover) + 1
        order = [*self._agents[place:], *self._agents[:place]]
        following = next(agent for agent in order if agent in self._cut or agent in self._live)
        return self._cut & {following}

    def _views(self) -> tuple[dict[AgentID, Any], dict[AgentID, Any]]:
        """The last view of agents that died, and of the others the view when it is the turn of one
        that lives: observations and masks may tell whose turn it is."""
        observations, infos = self._look()
        if self._skip_dead():
            later_observations, later_infos = self._look()
            observations, infos = {**observations, **later_observations}, {**infos, **later_infos}
        return observations, infos

    def _look(self) -> tuple[dict[AgentID, Any], dict[AgentID, Any]]:
        env = self._env
        return {agent: env.observe(agent) for agent in env.agents}, dict(env.infos)

    def _skip_dead(self) -> bool:
        """Takes the turns of agents that are out of the game; returns whether there were any."""
        env, skipped = self._env, False
        while env.agents and not self._is_playing(env.agent_selection):
            try:
                env.step(None)
            except Exception as error:
                raise self._fault(
                    f"agent {env.agent_selection!r} is out of the game, and its turn with None "
                    f"raised {type(error).__name__}: {error}"
                ) from error
            self._mark(env.agents, env.terminations, env.truncations)
            skipped = True
        return skipped

    def _turn(
        self,
        observations: Mapping[AgentID, Any],
        infos: Mapping[AgentID, Any],
        reward: ByGroup,
        start: bool,
        cut: Collection[AgentID],
    ) -> TimeStep:
        mover = () if self._over else (self._env.agent_selection,)
        alive = self._playing if self._waiting == "pass" else self._rows_where(mover)
        return self._timestep(observations, infos, reward, alive, {*mover, *cut}, start)

    def _episode_limit(self) -> int | None:
        # Limits of these environments count rounds, not turns.
        return None
