"""NVIDIA's GPUs and drivers as tables with their sources: which driver supports which GPU, up to which CUDA.

Imports nothing else of gpupool: checks of inventories, facts and operations all use it.
"""
