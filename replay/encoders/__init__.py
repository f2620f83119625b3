"""Encoders: how observations become states; one file each."""

from replay.encoders.belief_states import BeliefStates
from replay.encoders.bins import Bins
from replay.encoders.clones import Clones
from replay.encoders.contract import Coder, Encoder, Walk
from replay.encoders.k_means import KMeans
from replay.encoders.last_observations import LastObservations
from replay.encoders.predictive_states import PredictiveStates
from replay.encoders.random_projections import RandomProjections
from replay.encoders.slow_features import SlowFeatures
from replay.encoders.state_merging import StateMerging
from replay.encoders.variational_codes import VariationalCodes

__all__ = ["BeliefStates", "Bins", "Clones", "Coder", "Encoder", "KMeans", "LastObservations"]
__all__ += ["PredictiveStates", "RandomProjections", "SlowFeatures", "StateMerging"]
__all__ += ["VariationalCodes", "Walk"]
