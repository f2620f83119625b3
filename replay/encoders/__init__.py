"""Encoders: how observations become states."""

from replay.encoders.clones import Clones
from replay.encoders.contract import Coder, Encoder, Walk
from replay.encoders.histories import BeliefStates, LastObservations
from replay.encoders.predictive_states import PredictiveStates
from replay.encoders.state_merging import StateMerging
from replay.encoders.variational_codes import VariationalCodes
from replay.encoders.vectors import Bins, KMeans, RandomProjections, SlowFeatures

__all__ = ["BeliefStates", "Bins", "Clones", "Coder", "Encoder", "KMeans", "LastObservations"]
__all__ += ["PredictiveStates", "RandomProjections", "SlowFeatures", "StateMerging"]
__all__ += ["VariationalCodes", "Walk"]
