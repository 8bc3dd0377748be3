"""Episodes under the first legal actions."""

import numpy as np


def legal_actions(environment, timestep):
    """The first legal action of each agent, 0 where there is none."""
    return {
        name: np.argmax(legal, axis=-1).astype(np.int32)
        for name, legal in timestep.legal_actions.items()
    }


def play_episode(environment, seed=0):
    timesteps = [environment.reset(seed)]
    while not timesteps[-1].end:
        timesteps.append(environment.step(legal_actions(environment, timesteps[-1])))
    return timesteps
